import { and, asc, eq, isNull, sql as raw } from 'drizzle-orm';
import { holdList } from '../locks.ts';
import { rotationRequest, rotationRequestAnswer } from '../schema/rotations.ts';
import { builderOf, type Db, readText, type Sql, type Tx } from '../sql.ts';
import type { Principal } from '../tokens/authenticate.ts';

const mostAtOnce = 1000;
/** Whether the token of a request was revoked. */
const isWithdrawn = raw<boolean>`keywarden.token_was_revoked(${rotationRequest.requestedBy})`;
/** Why such a request begins no rotation. */
export const withdrawnInWords = 'the token of the request was revoked';

/** Lists the requests of operators in the report that have no answer yet. */
export async function listRotationRequests(db: Db) {
  const { number, keyNumber: key, requestedBy } = rotationRequest;
  return await db
    .select({ number, key, requestedBy, isWithdrawn })
    .from(rotationRequest)
    .leftJoin(rotationRequestAnswer, eq(rotationRequestAnswer.requestNumber, number))
    .where(isNull(rotationRequestAnswer.requestNumber))
    .orderBy(asc(number))
    .limit(mostAtOnce);
}

/** Returns whether the token of a request was revoked, also since the request was listed. */
export async function isRequestWithdrawn(db: Db, requestNumber: string): Promise<boolean> {
  return (await db.$count(rotationRequest, and(eq(rotationRequest.number, requestNumber), isWithdrawn))) > 0;
}

/** Makes others that answer a request wait until the transaction ends. */
export const holdRequest = async (tx: Tx, requestNumber: string): Promise<void> =>
  await holdList(tx, `answer of rotation request ${requestNumber}`);

/** Answers a request, once, with the reason why there is no rotation. A rotation that opens answers it itself. */
export async function refuseRotationRequest(sql: Sql, requestNumber: string, whyNot: string): Promise<void> {
  await sql.begin(async (tx) => {
    await holdRequest(tx, requestNumber);
    await builderOf(tx).insert(rotationRequestAnswer).values({ requestNumber, whyNot }).onConflictDoNothing();
  });
}

/** Asks the daemon to rotate a key, as the principal. Returns the request's number. Fails for a key that they cannot see (KW004). The report can do nothing else about a rotation. */
export async function requestRotation(
  sql: Sql,
  { key, principal, reason }: { key: string; principal: Principal; reason: string },
): Promise<string> {
  return await readText(sql`select keywarden.request_rotation(${principal.credential}, ${key}, ${reason})`);
}
