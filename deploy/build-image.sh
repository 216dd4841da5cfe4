#!/bin/sh
# Makes the image's contents in a folder: the sources of both apps, and their dependencies without those that only building and testing need. Used by
# the Dockerfile, and by a test in a plain folder.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
out=$1
mkdir -p "$out"
cd "$root"
for each in package.json pnpm-lock.yaml pnpm-workspace.yaml patches packages/core packages/runtime db apps/daemon apps/report packages/sandbox/package.json packages/testkit/package.json bench/package.json simulations/package.json; do
  mkdir -p "$out/$(dirname "$each")"
  tar -cf - --exclude=node_modules --exclude=.turbo --exclude=db/tools --exclude='*.test.ts' "$each" | tar -xf - -C "$out"
done
cd "$out"
pnpm=$(sed -n 's/.*"packageManager": "\([^+"]*\).*/\1/p' package.json)
# Without the optional dependencies there is no embedded Postgres: the image works with the database that you configure.
npx --yes --loglevel=error "$pnpm" install --prod --no-optional --frozen-lockfile --reporter=silent \
  --filter '@keywarden/daemon...' --filter '@keywarden/report...'
chmod -R a+rX "$out"
