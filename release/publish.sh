#!/usr/bin/env bash
# Build and push both images of a tag, on a base named by digest, and write the manifests that name
# them by digest. Needs docker with buildx, a login at $REGISTRY, and `make venv`.
#
#   release/publish.sh TAG DIRECTORY
set -euo pipefail
tag=$1 directory=$2
cd "$(dirname "$0")/.."
python=${PYTHON:-.venv/bin/python}
: "${REGISTRY:?host and path below which the images are pushed}"

mkdir -p "$directory"
base=$("$python" -m release digest "${BASE_TAG:-python:3.11-slim}")
echo "$base" > "$directory/base-image.txt"
named=()
for program in shuntyard-extender shuntyard-agent; do
  image="$REGISTRY/$program:$tag"
  docker buildx build --build-arg "BASE=$base" --platform "${PLATFORMS:-linux/amd64,linux/arm64}" \
    --file "Dockerfile.${program##*-}" --tag "$image" --push .
  named+=("$program=$("$python" -m release digest "$image")")
done
manifests="https://github.com/${GITHUB_REPOSITORY:?}//deploy/base?ref=$tag"
"$python" -m release manifests --base "$manifests" "${named[@]}" > "$directory/kustomization.yaml"
"$python" -m release lint --base-image "$base" "$directory"
