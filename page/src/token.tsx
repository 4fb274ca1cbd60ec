// Asks for a token where the server needs one; it is kept in memory only.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { mayCarryToken, setToken } from "./reading";

export function TokenForm(): JSX.Element {
  const [text, setText] = useState("");
  if (!mayCarryToken()) {
    return <p>A token is sent over https only: use `shuntyard ui`, or give this listener a certificate.</p>;
  }
  const submit = (event: Event): void => {
    event.preventDefault();
    setToken(text);
    setText("");
  };
  return (
    <form onSubmit={submit}>
      <label>
        Token, for example of <code>kubectl create token</code>; it is kept until this tab is closed or reloaded{" "}
        <input type="password" autocomplete="off" value={text} onInput={(event) => setText(event.currentTarget.value)} />
      </label>
      <button type="submit">Use</button>
    </form>
  );
}
