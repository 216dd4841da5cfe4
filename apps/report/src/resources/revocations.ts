import { revocationItem, revocationList } from '@keywarden/db/report';
import { allow } from '../access/roles.ts';
import { columnsFor } from '../dashboard/columns.ts';
import { link, time } from '../dashboard/html.ts';
import { digits, range, word } from '../parameters.ts';
import type { Resource } from '../resource.ts';

const { cause, outcome } = revocationItem.shape;

const filters = {
  organization_id: word.optional(),
  key: digits.optional().openapi({ description: "The key's number in Keywarden" }),
  plan_id: word.optional(),
  cause: cause.optional(),
  outcome: outcome.optional(),
  ...range,
};

export const revocationColumns = columnsFor(revocationItem, {
  judged_at: { label: 'When', cell: (each) => time(each.judged_at ?? each.intended_at) },
  key: 'Key',
  outcome: 'Outcome',
  gone_at: 'Gone afterwards',
  reasons: { label: 'Why', is: 'text', cell: ({ reasons }) => reasons.map((each) => each.reason).join('; ') },
  approved_by: 'Approved by',
  plan_id: {
    label: 'Plan or rotation',
    cell: ({ plan_id: plan, rotation_id: rotation }) =>
      plan === null ? `rotation ${rotation}` : link(`/plans/${plan}`, plan),
  },
});

export const revocations: Resource<typeof revocationItem, typeof filters> = {
  name: 'revocations',
  summary: 'Revocations and attempts, newest first: when, why, who approved, and the outcome',
  access: allow('viewer'),
  item: revocationItem,
  filters,
  list: ({ query, organizations }) => revocationList(query, organizations),
  page: {
    title: 'Revocations',
    fields: { organization_id: 'Organization', outcome: 'Outcome', cause: 'Cause', from: 'From', to: 'Before' },
    columns: revocationColumns,
    proof: 'revocation',
    empty: 'There is no revocation here yet.',
  },
  file: {
    summary: 'Revocations as a file, with reasons and approvers',
    trailer: () => Promise.resolve({ holes: [] }),
  },
};
