#!/bin/sh
# Writes the list of parts of the image (a CycloneDX document) to a file. cdxgen reads all parts from the lockfile; those that the image does not have
# are left out.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
file=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
sh "$root/deploy/build-image.sh" "$work/image"
npx --yes --loglevel=error @cyclonedx/cdxgen@12.8.4 -t pnpm --no-install-deps --no-recurse -o "$work/all.json" "$work/image" > "$work/log" 2>&1 ||
  { cat "$work/log" >&2; exit 1; }
node "$root/scripts/installed-parts.ts" "$work/all.json" "$work/image/node_modules/.pnpm" > "$file"
