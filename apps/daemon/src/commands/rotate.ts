import { exitCode, usageError } from '@keywarden/core/process';
import { listLiveKeys } from '@keywarden/db/daemon';
import { type Opened, ruleOf } from '../rotate/open.ts';
import { type Moved, type Rotated, rotate } from '../rotate/rotate.ts';
import { makeKeyFinder } from './choose-keys.ts';
import { listKeysAfresh } from './fresh-keys.ts';
import { rotationToJson } from './rotations.ts';
import { printJson, withContext } from './session.ts';
import { renderTable } from './table.ts';
import { userName } from './user.ts';

export interface RotateOptions {
  sink?: string;
  json?: boolean;
}

/** Begins the rotation of the named keys, and moves on those that are open. Exits with 3 where a person must look. */
export async function rotateCommand(names: string[], options: RotateOptions): Promise<number> {
  return await withContext(async (context) => {
    const { sinks, policy } = context.config;
    if (options.sink !== undefined && !sinks.some(({ name }) => name === options.sink))
      throw usageError(
        `There is no sink ${options.sink}; ${sinks.length === 0 ? 'sinks of the configuration is empty' : `there are ${sinks.map(({ name }) => name).join(', ')}`}.`,
      );
    const { connections, failures } = await listKeysAfresh(context);
    const find = makeKeyFinder(await listLiveKeys(context.store.sql));
    const keys = [...new Set(names)].map(find);
    const rotated = await rotate(context, connections, {
      isPerson: true,
      wishes: keys.map((key) => (run) => ({
        key,
        rule: ruleOf(policy, run, key.number),
        sink: options.sink,
        via: 'command line',
        by: userName(),
      })),
    });
    if (options.json) printJson({ ...toJson(rotated), failures });
    else console.log([...render(rotated), ...failures].join('\n\n'));
    return failures.length > 0 || needsPerson(rotated) ? exitCode.needsPerson : exitCode.done;
  });
}

function needsPerson({ opened, moved, orphans, why }: Rotated): boolean {
  return (
    why !== null ||
    opened.some(({ whyNot }) => whyNot !== null) ||
    moved.some(({ rotation }) => ['stalled', 'failed'].includes(rotation.state)) ||
    orphans.some(({ isIncident }) => isIncident)
  );
}

function toJson({ opened, moved, orphans, why }: Rotated) {
  return {
    opened: opened.map(({ key, rule, whyNot }) => ({ key, rule, why_not: whyNot })),
    rotations: moved.map(({ rotation, waits }) => ({ ...rotationToJson(rotation), waits })),
    orphans: orphans.map(({ keyId, rotation, outcome, why: reason }) => ({
      key_id: keyId,
      rotation,
      outcome,
      why: reason,
    })),
    why,
  };
}

function render({ opened, moved, orphans, why }: Rotated): string[] {
  if (why !== null) return [`Nothing was rotated: ${why}.`];
  const refused = opened.filter(({ whyNot }) => whyNot !== null).map(refusalInWords);
  const revoked = orphans.map(
    ({ keyId, rotation, outcome, why: reason }) =>
      `Orphan ${keyId} of rotation ${rotation}: ${reason === null ? outcome : `${outcome}, ${reason}`}.`,
  );
  return [
    ...(moved.length > 0 ? [renderMoved(moved)] : refused.length > 0 ? [] : ['No rotation is open.']),
    ...(refused.length > 0 ? [refused.join('\n')] : []),
    ...(revoked.length > 0 ? [revoked.join('\n')] : []),
  ];
}

const refusalInWords = ({ key, whyNot }: Opened) => `Key ${key.id} (${key.name}) is not rotated: ${whyNot}.`;

function renderMoved(moved: Moved[]): string {
  const rows = moved.map(({ rotation, waits }) => [
    rotation.id,
    rotation.key.id,
    rotation.mints.at(-1)?.keyId ?? '-',
    rotation.key.name,
    rotation.state,
    waits ?? rotation.why ?? '',
  ]);
  return renderTable(['ROTATION', 'KEY', 'SUCCESSOR', 'NAME', 'STATE', 'WAITS FOR'], rows);
}
