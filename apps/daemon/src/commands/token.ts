import { createToken, listTokenEffects, listTokens, revokeToken, roles, type StoredToken } from '@keywarden/db/daemon';
import { printError, usageError } from '@keywarden/runtime';
import { describeCommand } from './command.ts';
import { parseUntil, requireNumber, requireOneOf, requireOrganization, userName } from './common.ts';
import { type Columns, joined, list } from './output.ts';
import { asAdmin, withContext } from './with-context.ts';

export const tokenCreateCommand = describeCommand({
  name: 'token create',
  about: 'Create a token, and print it once',
  required: { '--name <name>': 'the name of its holder', '--role <role>': 'viewer, auditor or operator' },
  options: {
    '--organization <id...>': 'show only these organizations',
    '--expires <date>': 'a date, a duration from now, or never (default: 90d)',
  },
  output: 'result',
  examples: ['--name ada --role operator --expires 90d'],
  async run({ name, role, organization, expires, json }) {
    const known = requireOneOf(role, roles, 'role');
    const now = new Date().toISOString();
    const expiresAt = expires === 'never' ? null : parseUntil(expires ?? '90d', { now, what: 'a token' });
    return await withContext(async ({ store }) => {
      for (const id of organization ?? []) await requireOrganization(store.db, id);
      const organizations = organization ?? null;
      const shown = { name, role: known, expires_at: expiresAt, organizations };
      const given = { name, role: known, expiresAt, organizationIds: organizations };
      const token = await createToken(store.db, { ...given, createdBy: userName() });
      const said = `Token ${token.number} for ${name}, with the role ${known}, ${expiresAt === null ? 'without an expiry' : `until ${expiresAt}`}. It is shown only once; send it as Authorization: Bearer.`;
      if (!json) printError(said);
      return { json: { id: token.number, ...shown, token: token.secret }, text: token.secret };
    }, asAdmin);
  },
});

export const tokenListCommand = describeCommand({
  name: 'token list',
  about: 'List the tokens without their secrets',
  output: 'list',
  examples: ['', '--json'],
  needs: asAdmin,
  async run({ store, now }) {
    const tokens = await listTokens(store.db);
    const columns: Columns<StoredToken> = {
      ID: ({ number }) => number,
      NAME: ({ name }) => name,
      ROLE: ({ role }) => role,
      ORGANIZATIONS: ({ organizationIds }) => organizationIds?.join(' ') ?? 'all',
      CREATED: ({ createdAt }) => createdAt,
      'LAST USED': ({ lastUsedAt }) => lastUsedAt ?? 'never',
      STATE: (token) => stateOf(token, now()),
      'CREATED BY': ({ createdBy }) => createdBy ?? '-',
    };
    return list(tokens, columns, { json: tokens.map(toJson), none: 'There is no token.' });
  },
});

export const tokenRevokeCommand = describeCommand({
  name: 'token revoke',
  about: 'Revoke a token permanently',
  arguments: [['<id>', 'the id that token list prints']],
  output: 'result',
  examples: ['3'],
  needs: asAdmin,
  check(id) {
    requireNumber(id, { of: "a token's id", list: 'token list' });
  },
  async run({ store }, id) {
    if (!(await revokeToken(store.db, { number: id, by: userName() })))
      throw usageError(`There is no live token ${id}; keywarden token list shows them.`);
    const { exemptions, rotations, reviews } = await listTokenEffects(store.db, id);
    const text = joined([
      `Token ${id} is revoked, with its sessions, approvals and unanswered requests.`,
      exemptions.length > 0 &&
        `Its exemptions in force stay: ${exemptions.join(', ')}. keywarden exemptions --end NUMBER ends one.`,
      rotations.length > 0 &&
        `Its open rotations go on: ${rotations.join(', ')}. keywarden rotations --give-up ROTATION ends one.`,
      reviews.length > 0 &&
        `The reviews that it signed still count: ${reviews.join(', ')}. A later review of the same keys replaces one.`,
    ]);
    return { json: { id, revoked: true, in_effect: { exemptions, rotations, reviews } }, text };
  },
});

function stateOf({ revokedAt, revokedBy, expiresAt }: StoredToken, nowMs: number): string {
  if (revokedAt !== null) return `revoked ${revokedAt}${revokedBy === null ? '' : ` by ${revokedBy}`}`;
  if (expiresAt === null) return 'live';
  return Date.parse(expiresAt) > nowMs ? `live until ${expiresAt}` : `expired ${expiresAt}`;
}

function toJson(token: StoredToken) {
  return {
    id: token.number,
    name: token.name,
    role: token.role,
    organizations: token.organizationIds,
    created_at: token.createdAt,
    created_by: token.createdBy,
    expires_at: token.expiresAt,
    last_used_at: token.lastUsedAt,
    revoked_at: token.revokedAt,
    revoked_by: token.revokedBy,
  };
}
