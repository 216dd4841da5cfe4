import { asc, eq, isNull, sql as raw } from 'drizzle-orm';
import { rotationRequest, rotationRequestAnswer } from '../schema/rotations.ts';
import { type Db, readText, type Sql } from '../sql.ts';
import type { Principal } from '../tokens/authenticate.ts';

const mostAtOnce = 1000;

/** Lists the requests of operators in the report that have no answer yet. `isWithdrawn`: the token of the request was revoked. */
export async function listRotationRequests(db: Db) {
  const { number, keyNumber: key, requestedBy } = rotationRequest;
  return await db
    .select({ number, key, requestedBy, isWithdrawn: raw<boolean>`keywarden.token_was_revoked(${requestedBy})` })
    .from(rotationRequest)
    .leftJoin(rotationRequestAnswer, eq(rotationRequestAnswer.requestNumber, number))
    .where(isNull(rotationRequestAnswer.requestNumber))
    .orderBy(asc(number))
    .limit(mostAtOnce);
}

/** Answers a request, once, with the reason why there is no rotation. A rotation that opens answers it itself. */
export async function refuseRotationRequest(db: Db, requestNumber: string, whyNot: string): Promise<void> {
  await db.insert(rotationRequestAnswer).values({ requestNumber, whyNot }).onConflictDoNothing();
}

/** Asks the daemon to rotate a key, as the principal. Returns the request's number. The report can do nothing else about a rotation. */
export async function requestRotation(
  sql: Sql,
  { key, principal, reason }: { key: string; principal: Principal; reason: string },
): Promise<string> {
  return await readText(sql`select keywarden.request_rotation(${principal.credential}, ${key}, ${reason})`);
}
