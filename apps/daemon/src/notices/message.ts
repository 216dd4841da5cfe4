import { type DueNotice, explain } from '@keywarden/core/policy';

interface ToldKey {
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

/** The body of a message about keys of one owner, in the shape of Standard Webhooks. */
export interface Body {
  type: 'key.revocation_announced' | 'key.reported' | 'key.rotation_stalled';
  timestamp: string;
  data: { owner: string; control_plane: string; step: string; keys: ToldKey[] };
}

/** Returns the message of some notifications. All of one message have the same owner, control plane and step. */
export function toBody(
  notices: DueNotice[],
  { owner, controlPlane, step, at }: { owner: string; controlPlane: string; step: string; at: string },
): Body {
  const isAnnounced = notices.some(({ action }) => action === 'revoke');
  return {
    type: isAnnounced ? 'key.revocation_announced' : 'key.reported',
    timestamp: at,
    data: { owner, control_plane: controlPlane, step, keys: notices.map(toToldKey) },
  };
}

function toToldKey({ key, rule, step, action, finding }: DueNotice): ToldKey {
  return {
    id: key.id,
    kind: key.kind,
    name: key.name,
    organization_id: key.organizationId,
    project_id: key.projectId,
    created_at: key.createdAt,
    last_used_at: key.use.state === 'used' ? key.use.at : null,
    rule,
    reason: explain(finding),
    may_be_revoked_after: action === 'revoke' ? step : null,
  };
}

/**
 * Returns the same for a chat, as text only. A name from elsewhere cannot mention a person or add a line, and an address in it is not a
 * link.
 */
export function toSlack({ data: { owner, control_plane: controlPlane, keys } }: Body): { text: string } {
  const lines = keys.map(({ id, name, organization_id: organization, reason, rule, may_be_revoked_after: after }) => {
    const place = organization === null ? 'personal' : `organization ${organization}`;
    const what = after === null ? '' : `, may be revoked ${after} after this`;
    return `• key ${id} \`${tame(name)}\` (${place})${what}: \`${tame(reason)}\` (${rule})`;
  });
  const count = keys.length === 1 ? '1 key' : `${keys.length} keys`;
  return { text: escapeSlack([`Keywarden: ${count} of ${owner} at ${controlPlane}`, ...lines].join('\n')) };
}

/** Returns text that is safe between backticks, where a chat makes no links. */
const tame = (text: string) => text.replaceAll(/\p{C}+/gu, ' ').replaceAll('`', "'");

const escapeSlack = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
