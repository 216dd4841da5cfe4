import * as store from '@keywarden/db/report';
import { keyList, type Principal } from '@keywarden/db/report';
import { nameOf } from '../access/roles.ts';
import type { Dependencies } from '../environment.ts';
import { Problem } from '../problem.ts';
import { requireItem } from '../route.ts';

/** Asks the daemon to rotate a key, in the name of whoever asks; answers with the request's number. Throws a Problem for a key that is gone. */
export async function requestRotation(
  { db, sql, marks }: Dependencies,
  { principal, key, reason }: { principal: Principal; key: string; reason: string },
): Promise<string> {
  const asked = keyList({ number: key }, { organizations: principal.organizations });
  const { state } = await requireItem(db, asked, [`key of number ${key}`, '/v1/keys']);
  if (state === 'gone') throw new Problem(409, 'Conflict', 'This key is gone; there is nothing to rotate.');
  await marks.move();
  return await store.requestRotation(sql, { key, by: nameOf(principal), reason });
}
