import { randomBytes } from 'node:crypto';
import { and, asc, getTableColumns, gt, isNull, like, sql } from 'drizzle-orm';
import { exemption } from '../schema/exemptions.ts';
import { reviewSignature } from '../schema/reviews.ts';
import { rotation } from '../schema/rotations.ts';
import { reportToken } from '../schema/tokens.ts';
import { type Db, hasValues } from '../sql.ts';
import { hashCredential, nameInRecords } from './authenticate.ts';

type TokenRow = typeof reportToken.$inferSelect;

/** A token that never expires unless it has a time for it. Keywarden itself creates one without `createdBy`. */
type NewToken = Pick<TokenRow, 'name' | 'role' | 'organizationIds' | 'createdBy'> &
  Partial<Pick<TokenRow, 'expiresAt'>>;

/** Returns the secret of a new report token: 256 random bits. */
export const makeTokenSecret = (): string => `kwr_${randomBytes(32).toString('base64url')}`;

/** Creates a report token of 256 random bits. Only its hash is stored, so the answer is the only time that it is shown. */
export async function createToken(db: Db, token: NewToken): Promise<{ number: string; secret: string }> {
  const secret = makeTokenSecret();
  return { number: (await insertToken(db, token, secret)).number, secret };
}

/** Makes a given secret a token of this role, even if it had another role. Returns false if the token was revoked; it stays revoked. */
export async function ensureToken(db: Db, token: NewToken, secret: string): Promise<boolean> {
  return (await insertToken(db, token, secret)).revokedAt === null;
}

async function insertToken(
  db: Db,
  { expiresAt = null, ...token }: NewToken,
  secret: string,
): Promise<{ number: string; revokedAt: string | null }> {
  const tokenHash = hashCredential(secret);
  const [row] = await db
    .insert(reportToken)
    .values({ ...token, tokenHash, expiresAt })
    .onConflictDoUpdate({ target: reportToken.tokenHash, set: { role: token.role } })
    .returning({ number: reportToken.number, revokedAt: reportToken.revokedAt });
  if (row === undefined) throw new Error('the token was not stored');
  return row;
}

export interface StoredToken extends Omit<TokenRow, 'tokenHash'> {
  /** The time of its last request in the access log. */
  lastUsedAt: string | null;
}

export async function listTokens(db: Db): Promise<StoredToken[]> {
  const lastUsedAt = sql<
    string | null
  >`(select a.at from keywarden.access_log a where a.token_number = keywarden.report_token.number
    order by a.number desc limit 1)`.mapWith(reportToken.createdAt);
  const { tokenHash: _hash, ...shown } = getTableColumns(reportToken);
  return await db
    .select({ ...shown, lastUsedAt })
    .from(reportToken)
    .orderBy(asc(reportToken.number));
}

/** Lists the live tokens that never expire. */
export async function listLastingTokens(db: Db): Promise<{ number: string; name: string }[]> {
  return await db
    .select({ number: reportToken.number, name: reportToken.name })
    .from(reportToken)
    .where(hasValues(reportToken, { revokedAt: null, expiresAt: null }))
    .orderBy(asc(reportToken.number));
}

/** Revokes a token permanently. Returns false if no live token has this number. */
export async function revokeToken(db: Db, { number, by }: { number: string; by: string }): Promise<boolean> {
  const revoked = await db
    .update(reportToken)
    .set({ revokedAt: sql`now()`, revokedBy: by })
    .where(hasValues(reportToken, { number, revokedAt: null }));
  return revoked.count > 0;
}

/**
 * Lists what a token did that its revocation does not end: the numbers of exemptions in force, the ids of open rotations, and the numbers of the reviews that
 * it signed.
 */
export async function listTokenEffects(
  db: Db,
  number: string,
): Promise<{ exemptions: string[]; rotations: string[]; reviews: string[] }> {
  const name = nameInRecords({ name: '%', token: number });
  const exemptions = await db
    .select({ number: exemption.number })
    .from(exemption)
    .where(and(like(exemption.grantedBy, name), isNull(exemption.endedAt), gt(exemption.until, sql`now()`)))
    .orderBy(asc(exemption.number));
  const rotations = await db
    .select({ id: rotation.id })
    .from(rotation)
    .where(and(like(rotation.requestedBy, name), isNull(rotation.endedAt)))
    .orderBy(asc(rotation.number));
  const reviews = await db
    .select({ number: reviewSignature.reviewNumber })
    .from(reviewSignature)
    .where(like(reviewSignature.signedBy, name))
    .orderBy(asc(reviewSignature.reviewNumber));
  return {
    exemptions: exemptions.map((each) => each.number),
    rotations: rotations.map(({ id }) => id),
    reviews: reviews.map((each) => each.number),
  };
}
