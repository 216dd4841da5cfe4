import { organizationItem, organizationList } from '@keywarden/db/report';
import { allow } from '../access/roles.ts';
import type { Resource } from '../resource.ts';

/** Whose keys and projects they are. */
export const organizations: Resource<typeof organizationItem> = {
  name: 'organizations',
  summary: 'Organizations that were seen',
  access: allow('viewer'),
  item: organizationItem,
  filters: {},
  list: (asked) => organizationList(asked.organizations),
};
