import type { Incident } from './list.ts';

/** Describes an incident in words, from its stored detail. */
export function incidentInWords({ kind, plan_id: planId, detail }: Incident): string {
  const text = (name: string) => {
    const value = detail[name];
    return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
  };
  switch (kind) {
    case 'used_in_flight': {
      const from = text('last_used_from_addr');
      const by = planId === null ? 'its rotation' : `plan ${planId}`;
      return `used at ${text('last_used_at')}${from && ` from ${from}`}, between its last listing and its revocation by ${by}`;
    }
    case 'breaker':
      return `keys flagged by plan ${text('plan_id')}: ${text('flagged') || text('condemned')} of ${text('active')}, more than ${text('percent')} percent; automatic revocation stops in this scope until a person applies a plan`;
    case 'high_water_mark':
      return `nothing is enforced: ${text('why')}`;
    case 'rotation_stalled':
      return text('state') === 'stalled'
        ? `its rotation ${text('rotation')} is stalled: ${text('why')}; both keys stay`
        : `its rotation ${text('rotation')} has ended: ${text('why')}`;
    case 'orphan':
      if (text('state') === 'unrecorded')
        return `it has the name of a successor of rotation ${text('rotation')}, and this store has no record of its mint: ${text('why')}; while this incident is open, its key lineage is not rotated`;
      return `rotation ${text('rotation')} minted it and lost its secret; it stays: ${text('why')}`;
    case 'job_failed': {
      const error = detail.error as { code?: string; message?: string } | null | undefined;
      return `the daemon's ${text('kind')} job failed on every attempt: ${error?.message ?? error?.code ?? 'its process died, or the store took no record of its error'}; the incident closes when a later job succeeds`;
    }
    case 'configuration':
      return `no key is revoked automatically: ${text('why')}; the incident closes when the cause is fixed`;
    case 'listing_doubted':
      return `every listing of its keys is suspect since ${text('since')}, and none of them is revoked: ${text('why')}; the incident closes with the first complete listing`;
    case 'signature_broken':
      return `the content of a signed review differs from what ${text('signed_by')} signed at ${text('signed_at')}; its decisions have no effect`;
    case 'review_overdue':
      return `the review campaign ${text('title')} was due at ${text('due_at')}; unsigned reviews then: ${text('unsigned')}, undecided keys: ${text('undecided')}; the incident closes when all are signed`;
    case 'ledger_inconsistent':
      return `the ledger in the store is not the one that was signed, or contradicts itself: ${text('why')}; nothing is enforced while this incident is open, and it opens again if the cause remains`;
    case 'revocation_undone':
      return `its revocation counted as done at ${text('revoked_at')}, and listings still show it, the last at ${text('listed_at')}; the control plane did not revoke it, or made it live again`;
    case 'key_changed':
      return `its id belonged to another key until ${text('listed_at')}: ${text('was')}, now ${text('is')}; neither key is revoked until you review both and close this incident`;
    default:
      return kind satisfies never;
  }
}
