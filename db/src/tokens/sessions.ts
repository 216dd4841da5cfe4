import { randomBytes } from 'node:crypto';
import { sql as fragment } from 'drizzle-orm';
import { z } from 'zod';
import { instant } from '../item.ts';
import { type FilterOf, isNumber, listOf, matching } from '../list.ts';
import { reportSession } from '../schema/tokens.ts';
import { type Db, hasValues, isTrue, type Sql } from '../sql.ts';
import { hashCredential, type Principal, referenceToToken, tokenReference } from './authenticate.ts';

export const sessionItem = z
  .strictObject({
    id: z.string(),
    token: tokenReference,
    state: z.enum(['live', 'ended', 'expired']),
    created_at: instant,
    last_seen_at: instant.meta({ description: 'To the minute' }),
    expires_at: instant,
    address: z.string(),
    agent: z.string().meta({ description: 'The User-Agent of the sign-in' }),
    ended_at: instant.nullable(),
    ended_by: z.string().nullable(),
  })
  .meta({ id: 'Session' });

const state = fragment`case when s.ended_at is not null or t.revoked_at is not null then 'ended'
  when least(s.expires_at, t.expires_at, s.last_seen_at + interval '1 hour') <= now() or keywarden.clock_was_ahead(s.last_seen_at) then 'expired'
  else 'live' end`;

const filters = {
  number: isNumber('s.number'),
  state: (wanted: z.output<typeof sessionItem>['state']) => fragment`${state} = ${wanted}`,
};

/** Lists the sessions of the dashboard, newest first. */
export function sessionList(filter: FilterOf<typeof filters>) {
  return listOf(sessionItem, 's', {
    from: fragment`keywarden.report_session s join keywarden.report_token t on t.number = s.token_number`,
    item: { id: fragment`s.number::text`, token: referenceToToken, state },
    where: matching(filters, filter),
  });
}

/** Opens a session for the holder of a token. Returns its random id of 256 bits; only its hash is stored. */
export async function openSession(
  sql: Sql,
  { principal, address, agent }: { principal: Principal; address: string; agent: string },
): Promise<string> {
  const secret = `kws_${randomBytes(32).toString('base64url')}`;
  await sql`select keywarden.open_session(${principal.credential}, ${hashCredential(secret)}, ${address}, ${agent})`;
  return secret;
}

/** Ends the principal's own session, or another that they may end. Returns false if there is no such live session. */
export async function endSession(sql: Sql, principal: Principal, number: string | null = null): Promise<boolean> {
  return await isTrue(sql`select keywarden.end_session(${principal.credential}, ${number})`);
}

/** Ends a session by a person at the command line. Returns false if there is no such live session. */
export async function revokeSession(db: Db, { number, by }: { number: string; by: string }): Promise<boolean> {
  const ended = await db
    .update(reportSession)
    .set({ endedAt: fragment`now()`, endedBy: by })
    .where(hasValues(reportSession, { number, endedAt: null }));
  return ended.count > 0;
}
