import { currentMint } from '@keywarden/core/rotation';
import { listLiveKeys } from '@keywarden/db/daemon';
import { usageError } from '@keywarden/runtime';
import type { Advanced } from '../rotate/advance.ts';
import type { Opened } from '../rotate/open.ts';
import { type Rotated, rotate } from '../rotate/rotate.ts';
import { listKeysAfresh } from '../sync/keys.ts';
import { makeKeyFinder } from './choose-keys.ts';
import { describeCommand } from './command.ts';
import { userName } from './common.ts';
import { joined } from './output.ts';
import { rotationToJson } from './rotations.ts';
import { renderTable } from './table.ts';
import { existingStore } from './with-context.ts';

export const rotateCommand = describeCommand({
  name: 'rotate',
  about: 'Start or continue the rotation of keys; without a key, do what the daemon does on its schedule',
  arguments: [['[key...]', 'ids of keys']],
  options: { '--sink <name>': 'deliver the new secrets to this sink instead of the sink of the rule' },
  output: 'result',
  examples: ['', '1234567', '1234567 --sink vault'],
  needsPerson:
    'a rotation stalled or could not be advanced, an orphan needs your attention, or keys could not be listed',
  needs: existingStore,
  check(names, { sink }) {
    if (sink !== undefined && names.length === 0)
      throw usageError('--sink needs a key: without one, each secret goes to the sink of its rule.');
  },
  async run(context, names, { sink }) {
    const { sinks } = context.config;
    if (sink !== undefined && !sinks.some(({ name }) => name === sink))
      throw usageError(
        `There is no sink ${sink}; ${sinks.length === 0 ? 'add one to sinks in the configuration' : `use one of ${sinks.map(({ name }) => name).join(', ')}`}.`,
      );
    const { connections, failures } = await listKeysAfresh(context);
    const find = makeKeyFinder(await listLiveKeys(context.store.db, { withOthers: true }));
    const keys = [...new Set(names.map(find))];
    const rotated = await rotate(context, connections, keys.length === 0 ? undefined : { keys, sink, by: userName() });
    if (rotated.whyUnmarked !== null) failures.push(rotated.whyUnmarked);
    return {
      json: { ...toJson(rotated), failures },
      text: joined([...render(rotated), ...failures], '\n\n'),
      needsPerson: failures.length > 0 || needsPerson(rotated),
    };
  },
});

const statesForPerson: readonly string[] = ['planned', 'orphaned', 'stalled', 'failed'];

function needsPerson({ opened, moved, orphans, why }: Rotated): boolean {
  return (
    why !== null ||
    opened.some(({ whyNot, isTransient }) => whyNot !== null && !isTransient) ||
    moved.some(({ rotation, hasFailed }) => hasFailed || statesForPerson.includes(rotation.state)) ||
    orphans.some(({ isIncident }) => isIncident)
  );
}

function toJson({ opened, moved, orphans, why }: Rotated) {
  return {
    opened: opened.map(({ key, rule, rotation, whyNot }) => ({
      key,
      rule,
      is_begun: rotation !== null,
      why_not: whyNot,
    })),
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

function render({ opened, moved, orphans, why }: Rotated): (string | false)[] {
  const refused = opened.filter(({ whyNot }) => whyNot !== null);
  // Do not report again what a person has already reviewed.
  const shown = orphans.filter(({ stays, isIncident }) => isIncident || !stays);
  const isQuiet = moved.length + refused.length + shown.length === 0 && why === null;
  return [
    isQuiet && 'No rotation is open, and none is due.',
    moved.length > 0 && renderAdvanced(moved),
    refused.length > 0 && refusalsInWords(refused),
    ...shown.map(
      ({ keyId, rotation, outcome, why: reason }) =>
        `Orphan ${keyId} of rotation ${rotation}: ${reason === null ? outcome : `${outcome}, ${reason}`}.`,
    ),
    moved.some(({ rotation: { state } }) => state === 'stalled') &&
      'A stalled rotation continues when its successor is used. To end it, run keywarden rotations --give-up ROTATION.',
    why !== null && `Nothing ${moved.length > 0 ? 'more ' : ''}was rotated: ${why}.`,
  ];
}

/** Groups refusals by reason, since many keys usually share a few reasons. */
function refusalsInWords(refused: Opened[]): string {
  return [...Map.groupBy(refused, ({ whyNot }) => whyNot)]
    .map(([whyNot, [first, ...others]]) => {
      const more = others.length === 0 ? ' is' : ` and ${others.length} more are`;
      return `Key ${first?.key.id} (${first?.key.name})${more} not rotated: ${whyNot}.`;
    })
    .join('\n');
}

function renderAdvanced(moved: Advanced[]): string {
  const rows = moved.map(({ rotation, waits }) => [
    rotation.id,
    rotation.key.id,
    currentMint(rotation)?.keyId ?? '-',
    rotation.key.name,
    rotation.key.organizationId ?? '(personal)',
    rotation.sink,
    rotation.state,
    (rotation.state === 'stalled' ? rotation.why : (waits ?? rotation.why)) ?? '',
  ]);
  return renderTable(['ROTATION', 'KEY', 'SUCCESSOR', 'NAME', 'ORGANIZATION', 'SINK', 'STATE', 'WAITS FOR'], rows);
}
