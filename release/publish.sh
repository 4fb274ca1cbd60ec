#!/usr/bin/env bash
# Build and push both images of a tag, on a base named by digest, and write what names them by
# digest: manifests, chart, a list. Needs docker with buildx, a login at $REGISTRY, kubectl, helm and
# `make venv`. Each image has a bill of materials and the provenance that BuildKit attaches.
#
#   release/publish.sh TAG DIRECTORY
set -euo pipefail
tag=$1 directory=$2
cd "$(dirname "$0")/.."
python=${PYTHON:-.venv/bin/python}
: "${REGISTRY:?host and path below which the images are pushed}"

# The tag of the source is v1.2.3, that of the images 1.2.3: the chart asks for its own version.
version=$("$python" -m release version "$tag")
mkdir -p "$directory"
base=$("$python" -m release digest "${BASE_TAG:-python:3.11-slim}")
echo "$base" > "$directory/base-image.txt"
named=()
for program in shuntyard-extender shuntyard-agent; do
  image="$REGISTRY/$program:$version"
  docker buildx build --build-arg "BASE=$base" --platform "${PLATFORMS:-linux/amd64,linux/arm64}" \
    --sbom=true --provenance=mode=max --file "Dockerfile.${program##*-}" --tag "$image" --push .
  named+=("$program=$("$python" -m release digest "$image")")
done
printf '%s\n' "${named[@]#*=}" > "$directory/images.txt"
manifests="https://github.com/${GITHUB_REPOSITORY:?}//deploy/base?ref=$tag"
"$python" -m release manifests --base "$manifests" "${named[@]}" > "$directory/kustomization.yaml"
"$python" -m release lint --base-image "$base" "$directory"

chart=$(mktemp -d)
trap 'rm -rf "$chart"' EXIT
"$python" -m release chart-of-release "$chart/shuntyard" "${named[@]}"
"${HELM:-helm}" package "$chart/shuntyard" --destination "$directory"
