import { type DueNotice, explain } from '@keywarden/core/policy';
import { countOf } from '@keywarden/core/values';

interface NotifiedKey {
  id: string;
  kind: string;
  name: string;
  organization_id: string | null;
  project_id: string | null;
  created_at: string;
  last_used_at: string | null;
  rule: string;
  reason: string;
  /** How long after acceptance the key may be revoked, at the earliest; null if nothing follows. */
  may_be_revoked_after: string | null;
}

/** The body of a message, in the shape of Standard Webhooks. */
export type Body = KeyBody | ReviewBody | CheckpointBody;

/** The body of a message about keys of one owner. */
export interface KeyBody {
  type: 'key.revocation_announced' | 'key.reported' | 'key.rotation_stalled';
  timestamp: string;
  data: { owner: string; control_plane: string; step: string; keys: NotifiedKey[] };
}

/** The body of a reminder of unsigned reviews of a campaign. `owner` is their reviewer, or the person that the review is escalated to. */
export interface ReviewBody {
  type: 'review.due' | 'review.overdue' | 'review.escalated';
  timestamp: string;
  data: {
    owner: string;
    control_plane: string;
    step: string;
    due_at: string;
    reviews: {
      id: string;
      title: string;
      reviewer: string;
      keys: number;
      undecided: number;
      /** Keys that got the default decision of the campaign at the due date. */
      by_default: number;
    }[];
  };
}

/** The body of a message with the newest checkpoint of the ledger: a signed note (c2sp.org/tlog-checkpoint). */
export interface CheckpointBody {
  type: 'ledger.checkpoint';
  timestamp: string;
  data: { events: number; checkpoint: string };
}

/** The most keys or reviews in one message: a chat truncates longer ones. */
const mostInMessage = 50;

/** Returns what each message is about: items of one group. A large group takes several messages. */
export function batchesOf<T>(items: T[], groupOf: (item: T) => unknown[]): [T, ...T[]][] {
  const groups = Map.groupBy(items, (item) => JSON.stringify(groupOf(item)));
  return [...groups.values()].flatMap((group) =>
    group.flatMap((first, index): [T, ...T[]][] =>
      index % mostInMessage === 0 ? [[first, ...group.slice(index + 1, index + mostInMessage)]] : [],
    ),
  );
}

/** Returns the message of some notifications. All of one message have the same owner, control plane and step. */
export function toBody(
  notices: DueNotice[],
  { owner, controlPlane, step, at }: { owner: string; controlPlane: string; step: string; at: string },
): KeyBody {
  const isAnnounced = notices.some(({ action }) => action === 'revoke');
  return {
    type: isAnnounced ? 'key.revocation_announced' : 'key.reported',
    timestamp: at,
    data: { owner, control_plane: controlPlane, step, keys: notices.map(toDueKey) },
  };
}

function toDueKey({ key, rule, step, action, finding }: DueNotice): NotifiedKey {
  const lastUsedAt = key.use.state === 'used' ? key.use.at : null;
  const after = action === 'revoke' ? step : null;
  return toNotifiedKey({ ...key, lastUsedAt }, { rule, reason: explain(finding), may_be_revoked_after: after });
}

type NamedKey = Record<'id' | 'kind' | 'name' | 'createdAt', string> &
  Record<'organizationId' | 'projectId' | 'lastUsedAt', string | null>;

/** Returns a key as messages name it, with why. */
export function toNotifiedKey(
  { id, kind, name, organizationId, projectId, createdAt, lastUsedAt }: NamedKey,
  why: Pick<NotifiedKey, 'rule' | 'reason' | 'may_be_revoked_after'>,
): NotifiedKey {
  const place = { organization_id: organizationId, project_id: projectId };
  return { id, kind, name, ...place, created_at: createdAt, last_used_at: lastUsedAt, ...why };
}

/** Returns the same for a chat, as text only: a name from elsewhere mentions no person, adds no line and makes no link. */
export function toSlack({ data }: Body): { text: string } {
  if ('checkpoint' in data) return { text: escapeSlack(checkpointLines(data)) };
  if ('reviews' in data) return { text: escapeSlack(reviewLines(data)) };
  const { owner, control_plane: controlPlane, keys } = data;
  const lines = keys.map(({ id, name, organization_id: organization, reason, rule, may_be_revoked_after: after }) => {
    const place = organization === null ? 'personal' : `organization ${organization}`;
    const what = after === null ? '' : `, may be revoked ${after} after this`;
    return `• key ${id} ${quote(name)} (${place})${what}: ${quote(reason)} (${rule})`;
  });
  const count = countOf(keys.length, 'key');
  return { text: escapeSlack([`Keywarden: ${count} of ${quote(owner)} at ${controlPlane}`, ...lines].join('\n')) };
}

function checkpointLines({ events, checkpoint }: CheckpointBody['data']): string {
  const note = checkpoint.trimEnd().split('\n').map(tame).join('\n');
  return `Keywarden: the ledger has ${countOf(events, 'event')}. Keep its checkpoint.\n\`\`\`\n${note}\n\`\`\``;
}

function reviewLines({ owner, step, due_at: dueAt, reviews }: ReviewBody['data']): string {
  const when = step === 'escalation' || step === 'overdue' ? 'was due' : 'is due';
  const count = countOf(reviews.length, 'unsigned review');
  const lines = reviews.map(({ id, title, reviewer, keys, undecided, by_default: byDefault }) => {
    const open = undecided === 0 ? 'a signature is missing' : `undecided: ${undecided} of ${countOf(keys, 'key')}`;
    const decided = byDefault === 0 ? '' : `, ${countOf(byDefault, 'key')} got the default decision`;
    return `• review ${id} ${quote(title)} of ${quote(reviewer)}: ${open}${decided}`;
  });
  return [`Keywarden, for ${quote(owner)}: ${count} ${when} at ${dueAt}`, ...lines].join('\n');
}

/** Returns text from elsewhere as code, where a chat makes no links and mentions no person. */
const quote = (text: string) => `\`${tame(text)}\``;

/** Returns text that ends neither its line nor a piece of code around it. */
const tame = (text: string) => text.replaceAll(/[\p{C}\p{Zl}\p{Zp}]+/gu, ' ').replaceAll('`', "'");

const escapeSlack = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
