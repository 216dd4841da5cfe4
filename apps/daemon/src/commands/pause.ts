import { endPause, openPause, readPause } from '@keywarden/db/daemon';
import { exitCode, print } from '@keywarden/runtime';
import { governed, resumeEnforcement, whyNotEnforcing } from '../enforce/high-water-mark.ts';
import { userName } from './common.ts';
import { withContext } from './session.ts';

/** Stops every replica before its next destructive call (R7), until `resume`. */
export async function pauseCommand({ reason = null }: { reason?: string | null }): Promise<number> {
  return await withContext(
    async (context) => {
      const { store, signal, progress } = context;
      const onWait = () => progress.note('A revocation is in progress; waiting for it to end.');
      const lock = { signal, onWait };
      const isNew = await governed(context, () => openPause(store, { by: userName(), reason }, lock));
      const pause = await readPause(store.db);
      if (isNew) print('Paused: no replica revokes a key until you run keywarden resume.');
      else if (pause)
        print(`Already paused by ${pause.pausedBy} since ${pause.pausedAt}; run keywarden resume to end the pause.`);
      return exitCode.done;
    },
    { needsControlPlane: false },
  );
}

export async function resumeCommand(): Promise<number> {
  return await withContext(
    async (context) => {
      const wasPaused = await governed(context, () => endPause(context.store.db, userName()));
      const mayEnforce = (await whyNotEnforcing(context)) === null;
      if (!mayEnforce) await resumeEnforcement(context, userName());
      const said = [
        wasPaused ? 'Resumed: plans that a person applies revoke keys again.' : 'Nothing was paused.',
        ...(mayEnforce ? [] : ['Keywarden now automatically enforces everything in mode: enforce on this store.']),
      ];
      print(said.join('\n'));
      return exitCode.done;
    },
    { needsControlPlane: false },
  );
}
