import { mayAct } from '../access/roles.ts';
import { type Column, link } from './html.ts';
import type { Visit } from './page.ts';

/** Returns the column that links a row to its events in the ledger, for those who may see them. `table` is that of the row. */
export function proofColumn<T extends { id: string }>({ principal }: Visit, table: string): Column<T>[] {
  if (!mayAct(principal, 'auditor') || principal.organizations !== null) return [];
  return [{ label: 'Ledger', cell: ({ id }) => link(`/ledger/events?subject=${table}%2F${id}`, 'proof') }];
}
