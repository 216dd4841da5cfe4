import { revocationItem, revocationList } from '@keywarden/db/report';
import { allow } from '../access/roles.ts';
import { columnsFor } from '../dashboard/columns.ts';
import { link } from '../dashboard/html.ts';
import { digits, range, word } from '../parameters.ts';
import type { Resource } from '../resource.ts';

const { cause, outcome } = revocationItem.shape;

const filters = {
  organization_id: word.optional(),
  key: digits.optional().openapi({ description: "The key's number here" }),
  plan_id: word.optional(),
  cause: cause.optional(),
  outcome: outcome.optional(),
  ...range,
};

export const revocationColumns = columnsFor(revocationItem, {
  judged_at: 'When',
  key: 'Key',
  outcome: 'Outcome',
  reasons: { label: 'Why', is: 'text', cell: ({ reasons }) => reasons.map((each) => each.reason).join('; ') },
  approved_by: 'By',
  plan_id: {
    label: 'Through',
    cell: ({ plan_id: plan, rotation_id: rotation }) =>
      plan === null ? `rotation ${rotation}` : link(`/plans/${plan}`, plan),
  },
});

/** What was done to keys. */
export const revocations: Resource<typeof revocationItem, typeof filters> = {
  name: 'revocations',
  summary: 'What was revoked, or tried to be, newest first: when, why, by whose word, and what became of it',
  access: allow('viewer'),
  item: revocationItem,
  filters,
  list: ({ query, organizations }) => revocationList(query, organizations),
  page: {
    title: 'Revocations',
    fields: {
      organization_id: 'Organization',
      outcome: 'Outcome',
      cause: 'Through a',
      from: 'From',
      to: 'Before',
    },
    columns: revocationColumns,
    empty: 'Nothing was revoked.',
  },
  file: {
    summary: 'What was revoked, why and by whose word, as a file',
    trailer: () => Promise.resolve({ holes: [] }),
  },
};
