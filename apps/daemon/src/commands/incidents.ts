import { closeIncidents, type Incident, incidentInWords, listIncidents } from '@keywarden/db/daemon';
import { usageError } from '@keywarden/runtime';
import { betweenMarks } from '../enforce/high-water-mark.ts';
import { describeCommand } from './command.ts';
import { requireNumber, userName, wholeList } from './common.ts';
import { type Columns, list } from './output.ts';
import { inEmergency } from './with-context.ts';

export const incidentsCommand = describeCommand({
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
  needs: inEmergency,
  check({ close, note }) {
    if (close === undefined && note != null) throw usageError('--note needs --close: it says what you found out.');
    if (close !== undefined) requireNumber(close, { of: "an incident's number", list: 'incidents' });
  },
  async run(context, { all = false, close, note = null }) {
    const { store } = context;
    const isClosed = async (number: string) =>
      await betweenMarks(context, () => closeIncidents(store.db, { number }, { by: userName(), note }));
    if (close !== undefined && !(await isClosed(close)))
      throw usageError(`There is no open incident ${close}; keywarden incidents shows them.`);
    const incidents = await listIncidents(store.db, { isOpen: !all, limit: wholeList });
    const columns: Columns<Incident> = {
      INCIDENT: ({ id }) => id,
      OPENED: (each) => each.opened_at,
      KEY: ({ key }) => key?.id ?? '-',
      'NAME OR SCOPE': ({ key, scope }) => key?.name ?? scope ?? '-',
      STATE: (each) => (each.state === 'open' ? 'open' : `closed by ${each.closed_by}`),
      WHAT: incidentInWords,
    };
    const found = list(incidents, columns, {
      json: { incidents: incidents.map(toJson) },
      none: all ? 'No incident was ever recorded.' : 'No incident is open.',
      after: 'Investigate each incident, then close it: keywarden incidents --close INCIDENT --note REASON',
    });
    return { ...found, needsPerson: incidents.some(({ state }) => state === 'open') };
  },
});

function toJson({ id, state: _state, key, scope, ...rest }: Incident) {
  return { number: id, ...rest, scope: scope ?? '', key: key && { id: key.id, name: key.name } };
}
