import { existsSync } from 'node:fs';
import { hostname } from 'node:os';
import { endPause, hasOpenIncident, listLostSuccessors, openPause, readPause } from '@keywarden/db/daemon';
import { codeOf, explain, readEnvironment, requireDataFolder, UserError } from '@keywarden/runtime';
import type { Context } from '../context.ts';
import {
  armMachine,
  betweenMarks,
  disarmMachine,
  isDisarmed,
  moveMark,
  whyNotEnforcing,
} from '../enforce/high-water-mark.ts';
import { describeCommand } from './command.ts';
import { lostInWords, userName } from './common.ts';
import { type Answer, joined } from './output.ts';
import { inEmergency, storeOnly, withContext } from './with-context.ts';

export const pauseCommand = describeCommand({
  name: 'pause',
  about: 'Stop every replica before its next revocation, until resume',
  options: { '--reason <text>': 'the reason, which check and the dashboard show' },
  output: 'result',
  examples: ['--reason "migration of the payment service"'],
  needsPerson: 'this machine could not write its mark',
  needs: inEmergency,
  async run(context, { reason = null }) {
    // A full disk of this machine must not prevent a pause. The mark only lets a store that was restored from before the pause be noticed.
    const mark = () => moveMark(context).then(() => null, whyUnmarked);
    await mark();
    const { isNew, pause } = await pauseAll(context, reason);
    const unmarked = await mark();
    return {
      json: {
        paused: true,
        is_new: isNew,
        by: pause.pausedBy,
        since: pause.pausedAt,
        warnings: unmarked === null ? [] : [unmarked],
      },
      text: joined([
        isNew
          ? 'Paused: no replica revokes a key until you run keywarden resume.'
          : `Already paused by ${pause.pausedBy} since ${pause.pausedAt}; run keywarden resume to end the pause.`,
        unmarked,
      ]),
      needsPerson: unmarked !== null,
    };
  },
});

/** Stops every replica. Throws a UserError if another process has ended the pause meanwhile: then nothing is paused. */
async function pauseAll({ store, signal, progress }: Context, reason: string | null) {
  const onWait = () => progress.note('A revocation is in progress; waiting for it to end.');
  const isNew = await openPause(store, { by: userName(), reason }, { signal, onWait });
  const pause = await readPause(store.db);
  if (pause !== null) return { isNew, pause };
  throw new UserError('held', 'Another process has ended the pause meanwhile; run keywarden pause again.');
}

const whyUnmarked = (error: unknown) =>
  `This machine could not write its mark, so a restored store may lack the pause unnoticed. ${
    error instanceof UserError
      ? error.message
      : `Free space in KEYWARDEN_DATA (${codeOf(error)}), then run keywarden pause again.`
  }`;

export const resumeCommand = describeCommand({
  name: 'resume',
  about: 'End the pause; for now, this also permits automatic enforcement as arm does, unless you have disarmed',
  output: 'result',
  examples: [''],
  needs: storeOnly,
  async run(context) {
    // The permission is for a daemon that uses this folder. Ending the pause makes a mark there.
    const hasDaemon = existsSync(context.environment.KEYWARDEN_DATA);
    const wasPaused = await betweenMarks(context, () => endPause(context.store.db, userName()));
    const wasArmed = (await whyNotEnforcing(context)) === null;
    const stays = isDisarmed(context.environment.KEYWARDEN_DATA);
    const arms = !wasArmed && hasDaemon && !stays;
    if (arms) await armMachine(context, userName());
    const text = joined([
      wasPaused ? 'Resumed: plans that a person applies revoke keys again.' : 'Nothing was paused.',
      arms && armed,
      arms && (await whyNotYet(context)),
      arms && 'In the next version, only keywarden arm does this.',
      stays && 'A person has disarmed this machine; keywarden arm permits automatic enforcement again.',
    ]);
    return { json: { paused: false, was_paused: wasPaused, armed: wasArmed || arms, was_armed: wasArmed }, text };
  },
});

const armed = 'This machine now automatically enforces everything in mode: enforce on this store.';

/** The permission holds, but an incident of the ledger stops all daemons. */
const whyNotYet = async ({ store }: Context) =>
  (await hasOpenIncident(store.db, 'ledger_inconsistent')) &&
  'It begins once the incident about the ledger is closed: keywarden incidents has the reason.';

export const armCommand = describeCommand({
  name: 'arm',
  about: 'Permit automatic enforcement on this machine, once you have checked the store',
  output: 'result',
  examples: [''],
  needs: storeOnly,
  async run(context) {
    // The permission is for a daemon that uses this folder.
    requireDataFolder(context.environment.KEYWARDEN_DATA);
    const isArmed = (await whyNotEnforcing(context)) === null;
    if (!isArmed) await armMachine(context, userName());
    const pause = await readPause(context.store.db);
    const lost = await listLostSuccessors(context.store.db);
    const text = joined([
      isArmed ? 'Automatic enforcement is already permitted on this machine.' : armed,
      await whyNotYet(context),
      pause !== null && 'Keywarden is paused: run keywarden resume to end the pause.',
      lost.length > 0 &&
        `${lostInWords(lost)}\nIf a rule may revoke one of them, run keywarden disarm now, assign its owner and exemptions again, then run keywarden arm. A key whose secret no one has can be revoked.`,
    ]);
    return { json: { armed: true, was_armed: isArmed, paused: pause !== null, lost_successors: lost }, text };
  },
});

export const disarmCommand = describeCommand({
  name: 'disarm',
  about: 'Withdraw that permission; plans that a person approves are still carried out',
  output: 'result',
  examples: [''],
  needsPerson: 'this machine could not withdraw its permission, so Keywarden is paused',
  /** Opens nothing first: a brake must work without a database and on a full disk. */
  async run() {
    const environment = readEnvironment(process.env);
    // Another folder than that of the daemon has no permission to withdraw.
    requireDataFolder(environment.KEYWARDEN_DATA);
    let wasArmed: boolean;
    try {
      wasArmed = disarmMachine({ environment });
    } catch (error) {
      return await pauseInstead(error);
    }
    return {
      json: { armed: false, was_armed: wasArmed },
      text: wasArmed
        ? 'This machine no longer enforces automatically. Plans that a person approves are still carried out; keywarden pause stops everything.'
        : 'Automatic enforcement is not permitted on this machine; nothing was changed.',
    };
  },
});

/** Stops every replica, because this machine cannot record that it may not enforce. */
async function pauseInstead(cause: unknown): Promise<Answer> {
  const why = `The permission of this machine could not be withdrawn: KEYWARDEN_DATA cannot be written (${codeOf(cause)}).`;
  try {
    const reason = `disarm could not write KEYWARDEN_DATA of ${hostname()}`;
    await withContext(async (context) => await pauseAll(context, reason), inEmergency);
  } catch (error) {
    const [message] = explain(error);
    throw new UserError('held', `${why} Keywarden could not be paused either: ${message} Stop the daemon.`, { cause });
  }
  return {
    json: { armed: true, was_armed: true, paused: true },
    text: `${why} Keywarden is paused instead: no replica revokes a key. Make the folder writable, then run keywarden disarm and keywarden resume.`,
    needsPerson: true,
  };
}
