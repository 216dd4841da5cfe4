import { closeIncident, type Incident, listIncidents } from '@keywarden/db/daemon';
import { usageError } from '@keywarden/runtime';
import type { Context } from '../context.ts';
import { governed } from '../enforce/high-water-mark.ts';
import type { CommandOf } from './command.ts';
import { requireNumber, userName } from './common.ts';
import { type Columns, list } from './output.ts';
import { storeOnly } from './session.ts';

const shown = 200;

interface IncidentsOptions {
  all?: boolean;
  close?: string;
  note?: string | null;
}

export const incidentsCommand: CommandOf = {
  name: 'incidents',
  about: 'List what a person must examine, or close one incident',
  options: {
    '--all': 'list closed incidents, too',
    '--close <number>': 'close this incident',
    '--note <text>': 'what you found out',
  },
  output: 'list',
  examples: ['', '--close 7 --note "a forgotten cron job"'],
  needsPerson: 'an incident is open',
  needs: storeOnly,
  check({ close }: IncidentsOptions) {
    if (close !== undefined) requireNumber(close, { of: "an incident's number", list: 'incidents' });
  },
  async run(context: Context, { all = false, close, note = null }: IncidentsOptions) {
    const { store } = context;
    const isClosed = async (number: string) =>
      await governed(context, () => closeIncident(store.db, { number, by: userName(), note }));
    if (close !== undefined && !(await isClosed(close)))
      throw usageError(`There is no open incident ${close}; keywarden incidents shows them.`);
    const incidents = await listIncidents(store.db, { isOpen: !all, limit: shown });
    const columns: Columns<Incident> = {
      INCIDENT: ({ id }) => id,
      OPENED: (each) => each.opened_at,
      KEY: ({ key }) => key?.id ?? '-',
      'NAME OR SCOPE': ({ key, scope }) => key?.name ?? scope ?? '-',
      STATE: (each) => (each.state === 'open' ? 'open' : `closed by ${each.closed_by}`),
      WHAT: describe,
    };
    const found = list(incidents, columns, {
      json: { incidents: incidents.map(toJson) },
      none: all ? 'No incident was ever recorded.' : 'No incident is open.',
      after: 'Investigate each incident, then close it: keywarden incidents --close INCIDENT --note REASON',
    });
    return { ...found, needsPerson: incidents.some(({ state }) => state === 'open') };
  },
};

/** Describes an incident as text. */
function describe({ kind, plan_id: planId, detail }: Incident): string {
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
      return `plan ${text('plan_id')} flags ${text('flagged') || text('condemned')} of ${text('active')} keys, more than ${text('percent')} percent; automatic revocation stops in this scope until a person applies a plan`;
    case 'high_water_mark':
      return `nothing is enforced: ${text('why')}`;
    case 'rotation_stalled':
      return text('state') === 'stalled'
        ? `its rotation ${text('rotation')} is stalled: ${text('why')}; both keys stay`
        : `its rotation ${text('rotation')} has ended: ${text('why')}`;
    case 'orphan':
      return `rotation ${text('rotation')} minted it and lost its secret; it stays: ${text('why')}`;
    case 'job_failed': {
      const error = detail.error as { code?: string; message?: string } | null | undefined;
      return `the daemon's ${text('kind')} job failed on every attempt: ${error?.message ?? error?.code ?? 'its process died'}; the incident closes when a later job succeeds`;
    }
    case 'configuration':
      return `no key is revoked automatically: ${text('why')}; the incident closes when the cause is fixed`;
    case 'listing_doubted':
      return `every listing of its keys is suspect since ${text('since')}, and none of them is revoked: ${text('why')}; the incident closes with the first complete listing`;
    case 'signature_broken':
      return `the content of a signed review differs from what ${text('signed_by')} signed at ${text('signed_at')}; its decisions have no effect`;
    case 'review_overdue':
      return `the review campaign ${text('title')} was due at ${text('due_at')}; ${text('unsigned')} of its reviews were not signed then, and ${text('undecided')} keys were undecided; the incident closes when all are signed`;
    case 'ledger_inconsistent':
      return `the ledger in the store is not the one that was signed, or contradicts itself: ${text('why')}; nothing is enforced while this incident is open, and it opens again if the cause remains`;
    case 'key_changed':
      return `its id belonged to another key until ${text('listed_at')}: ${text('was')}, now ${text('is')}; neither key is revoked until you review both and close this incident`;
    default:
      return kind satisfies never;
  }
}

function toJson({ id, state: _state, key, scope, ...rest }: Incident) {
  return { number: id, ...rest, scope: scope ?? '', key: key && { id: key.id, name: key.name } };
}
