import { makeGlobTest } from '@keywarden/core/values';
import { credentialKinds, keyKinds } from '@keywarden/core/wire';
import { listLiveKeys, type NamedKey } from '@keywarden/db/daemon';
import { usageError } from '@keywarden/runtime';
import type { Context } from '../context.ts';
import { requireOneOf, requireOrganization } from './common.ts';

/** Returns a function that finds a live key by its id, or by SCOPE/ID where ids repeat. It throws a UserError that names the fix. */
export function makeKeyFinder(keys: NamedKey[]): (name: string) => NamedKey {
  const byId = Map.groupBy(keys, ({ id }) => id);
  return (name) => findKey(byId, name);
}

function findKey(byId: Map<string, NamedKey[]>, name: string): NamedKey {
  // Ids of credentials other than keys can contain slashes. Take the longest id that the name ends in.
  const at = [-1, ...[...name.matchAll(/\//g)].map(({ index }) => index)].find((slash) =>
    byId.has(name.slice(slash + 1)),
  );
  const id = name.slice((at ?? name.lastIndexOf('/')) + 1);
  const scope = id === name ? undefined : name.slice(0, -id.length - 1);
  const found = (byId.get(id) ?? []).filter(
    (key) => scope === undefined || [key.scope, `${key.controlPlane}/${key.scope}`].includes(scope),
  );
  const [one, other] = found;
  if (one === undefined) throw usageError(`There is no key ${name}; keywarden plan and the report list key ids.`);
  if (other === undefined) return one;
  const names = found.map((key) => `${key.controlPlane}/${key.scope}/${key.id}`).join(', ');
  throw usageError(`More than one key has the id ${id}; specify one of ${names}.`);
}

export interface KeyPattern {
  name?: string;
  organization?: string;
  kind?: string;
}

/** Returns the live keys and credentials that are named, or that match a pattern: API keys, unless it names another kind. */
export async function chooseKeys(
  { store }: Pick<Context, 'store'>,
  { names, pattern }: { names: string[]; pattern: KeyPattern },
): Promise<NamedKey[]> {
  const keys = await listLiveKeys(store.db, { withOthers: true });
  const isPattern = Object.values(pattern).some((value) => value !== undefined);
  if (names.length > 0 === isPattern)
    throw usageError('Specify keys by id, or select them with --name, --organization or --kind; not both.');
  if (!isPattern) return [...new Set(names.map(makeKeyFinder(keys)))];
  const { kind } = pattern;
  if (kind !== undefined) requireOneOf(kind, credentialKinds, 'kind');
  if (pattern.organization !== undefined) await requireOrganization(store.db, pattern.organization);
  const hasName = pattern.name === undefined ? undefined : makeGlobTest(pattern.name);
  const found = keys.filter(
    (key) =>
      (hasName?.(key.name) ?? true) &&
      (pattern.organization === undefined || key.organizationId === pattern.organization) &&
      (pattern.kind === undefined ? keyKinds.some((kind) => kind === key.kind) : key.kind === pattern.kind),
  );
  if (found.length === 0) throw usageError('No key matches; check the names with keywarden plan or in the report.');
  return found;
}

/** Returns a stored pattern as text. */
export function patternInWords({ name, organization, kind }: KeyPattern): string | null {
  const given = Object.entries({ name, organization, kind }).filter(([, value]) => value !== undefined);
  return given.map((each) => each.join(' ')).join(', ') || null;
}
