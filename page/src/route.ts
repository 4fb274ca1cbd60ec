// Addresses of the page: everything is after the "#", so that they work behind any path.
import { useEffect, useState } from "preact/hooks";

export interface Route {
  /** The parts between slashes: ["job", namespace, kind, name], or one of the views' names. */
  readonly parts: readonly string[];
  /** Show jobs of this namespace only; empty: of all. */
  readonly namespace: string;
}

export function parse(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const parts = path.split("/").filter(Boolean).map(decoded);
  return { parts, namespace: new URLSearchParams(query).get("namespace") ?? "" };
}

export function address(parts: readonly string[], namespace: string): string {
  const query = namespace ? `?${new URLSearchParams({ namespace })}` : "";
  return `#/${parts.map(encodeURIComponent).join("/")}${query}`;
}

/** The address of a job; its key is `namespace/kind/name`. */
export function jobAddress(key: string, namespace: string): string {
  return address(["job", ...key.split("/")], namespace);
}

export function useRoute(): Route {
  const [route, setRoute] = useState(() => parse(location.hash));
  useEffect(() => {
    const changed = () => {
      setRoute(parse(location.hash));
      scrollTo(0, 0);
    };
    addEventListener("hashchange", changed);
    return () => removeEventListener("hashchange", changed);
  }, []);
  return route;
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
