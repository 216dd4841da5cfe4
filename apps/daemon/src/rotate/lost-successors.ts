import { listLostSuccessorsOf, openIncidentOfKey, readIncidentOfKey } from '@keywarden/db/daemon';
import type { Context } from '../context.ts';

/**
 * T2: returns why no successor of a key may be minted now, or null. An older store lacks the mint of a successor that its sink may have, and that consumers
 * may use: another secret would replace its secret there. Opens an incident for each such successor. A person who closes it has decided.
 */
export async function whyLostSuccessor({ store: { db } }: Pick<Context, 'store'>, key: string): Promise<string | null> {
  let isOpen = false;
  for (const { number, scopeKey, rotation } of await listLostSuccessorsOf(db, key)) {
    const incident = await readIncidentOfKey(db, { kind: 'orphan', key: number });
    isOpen ||= incident?.isOpen ?? true;
    if (incident !== undefined) continue;
    const detail = { rotation, state: 'unrecorded', why: 'its sink may have its secret' };
    await openIncidentOfKey(db, { kind: 'orphan', key: number, scope: scopeKey, detail });
  }
  if (!isOpen) return null;
  return 'the sink may have the secret of a successor that this store has no record of; see keywarden incidents';
}
