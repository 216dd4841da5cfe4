import { asc, eq, isNull } from 'drizzle-orm';
import { rotationRequest, rotationRequestAnswer } from '../schema/rotations.ts';
import type { Db, Sql } from '../sql.ts';

/** An operator's request in the report that has no answer yet. */
export interface RotationRequest {
  number: string;
  key: string;
  requestedBy: string;
}

const mostAtOnce = 1000;

export async function listRotationRequests(db: Db): Promise<RotationRequest[]> {
  const { number, keyNumber: key, requestedBy } = rotationRequest;
  return await db
    .select({ number, key, requestedBy })
    .from(rotationRequest)
    .leftJoin(rotationRequestAnswer, eq(rotationRequestAnswer.requestNumber, number))
    .where(isNull(rotationRequestAnswer.requestNumber))
    .orderBy(asc(number))
    .limit(mostAtOnce);
}

/** Answers a request once: with a rotation, or with the reason why there is none. */
export async function answerRotationRequest(
  db: Db,
  requestNumber: string,
  { rotation = null, whyNot = null }: { rotation?: string | null; whyNot?: string | null },
): Promise<void> {
  await db
    .insert(rotationRequestAnswer)
    .values({ requestNumber, rotationNumber: rotation, whyNot })
    .onConflictDoNothing();
}

/**
 * Asks the daemon to rotate a key. Returns the request's number. The report can do nothing else about a rotation. The report may insert
 * only these columns, and drizzle's insert would name all of them.
 */
export async function requestRotation(
  sql: Sql,
  { key, by, reason }: { key: string; by: string; reason: string },
): Promise<string> {
  const [row] = await sql`
    insert into keywarden.rotation_request (key_number, requested_by, reason) values (${key}, ${by}, ${reason}) returning number`;
  return String(row?.number);
}
