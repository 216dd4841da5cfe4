import { z } from '@hono/zod-openapi';
import { endSession, readOne, sessionItem, sessionList } from '@keywarden/db/report';
import { allowWhole } from '../access/roles.ts';
import { columnsFor } from '../dashboard/columns.ts';
import { endButton } from '../dashboard/html.ts';
import { type Report, readParameter } from '../dashboard/page.ts';
import { digits } from '../parameters.ts';
import { notFound } from '../problem.ts';
import { addResource } from '../resource.ts';
import { addRoute } from '../route.ts';

const access = allowWhole('operator');

/** Adds the sessions of the dashboard: who is signed in, and ending a session. */
export function addSessions(report: Report): void {
  const { db, sql } = report;
  addResource(report, {
    name: 'sessions',
    summary: 'Sessions of the dashboard, newest first',
    access,
    item: sessionItem,
    filters: { state: sessionItem.shape.state.optional() },
    list: ({ query }) => sessionList(query),
    page: {
      title: 'Sessions',
      fields: { state: 'State' },
      columns: [
        ...columnsFor(sessionItem, {
          id: 'Session',
          token: { label: 'Who', cell: ({ token }) => `${token.name} (${token.role}, token ${token.id})` },
          state: 'State',
          created_at: 'Signed in',
          last_seen_at: 'Last seen',
          expires_at: 'Until',
          address: 'Address',
        }),
        {
          label: '',
          cell: ({ id, state }) => (state === 'live' ? endButton(`/sessions/${id}`, `session ${id}`) : ''),
        },
      ],
      empty: 'There is no session.',
    },
  });
  addRoute(report, {
    method: 'post',
    path: '/v1/sessions/{session}/end',
    summary: 'Ends a session; its cookie stops working at once',
    access,
    params: z.object({ session: digits }),
    response: sessionItem,
    handle: async ({ params: { session }, principal }) => {
      if (!(await endSession(sql, principal, session))) throw notFound('live session with this number', '/v1/sessions');
      return (await readOne(db, sessionList({ number: session }))) ?? '{}';
    },
  });
  report.form('/sessions/:session/end', access, async ({ c, principal }) => {
    const session = readParameter(c, 'session', digits);
    if (!(await endSession(sql, principal, session))) throw notFound('live session with this number', '/sessions');
    return { to: '/sessions', flash: 'session_ended' };
  });
}
