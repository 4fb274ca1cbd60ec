#!/usr/bin/env bash
# Write the checksums of a release's files, and sign them and the images with the identity of the
# workflow's run: no key is kept anywhere. The provenance says from which commit and by which run
# they were built. Needs cosign, a login at the registry and `make venv`.
#
#   release/sign.sh DIRECTORY
set -euo pipefail
directory=$(realpath "$1")
cd "$(dirname "$0")/.."
python=${PYTHON:-.venv/bin/python}

"$python" -m release provenance > "$directory/provenance.json"
"$python" -m release checksums "$directory"
sums="$directory/SHA256SUMS"
attest=(--yes --type slsaprovenance1 --predicate "$directory/provenance.json")
cosign sign-blob --yes --bundle "$sums.sigstore.json" "$sums"
cosign attest-blob "${attest[@]}" --bundle "$sums.provenance.sigstore.json" "$sums"
while read -r image; do
  cosign sign --yes "$image"
  cosign attest "${attest[@]}" "$image"
done < "$directory/images.txt"
