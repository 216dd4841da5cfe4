import type { ApiKey, Organization, Truth } from './truth.ts';

// Who asks, and what the service lets them see.

export interface Question {
  method: string;
  path: string;
  query: URLSearchParams;
  body: unknown;
  secret: string;
  address: string;
}

/** An answer that is not 200, with the message that the service gives. */
export class Refusal extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

export interface Asked extends Question {
  truth: Truth;
  caller: ApiKey;
  /** The ids in the path, in order. */
  ids: [string, string];
}

export const isPersonal = ({ scope }: ApiKey) => scope.startsWith('user:');

/** Returns the scope of the caller's own keys. Only a user has them. */
export function ownScope({ caller }: Asked): string {
  if (isPersonal(caller)) return caller.scope;
  throw caller.projectId === null ? new Refusal(404, 'not allowed for organization API keys') : outside(caller);
}

export const outside = ({ projectId }: ApiKey) =>
  new Refusal(
    404,
    `not allowed to perform actions outside the project this key is scoped to; subject_project_id:"${projectId}"`,
  );

/** Returns the organization of a path, if the caller may see it. */
export function organizationOf({ truth, caller, ids: [id] }: Asked): Organization {
  if (caller.projectId !== null) throw outside(caller);
  const found = truth.organizations.find((each) => each.id === id);
  const isIn = found?.members.some(({ user }) => caller.scope === `user:${user.id}`);
  if (found === undefined || !(isIn || caller.scope === `organization:${id}`))
    throw new Refusal(404, 'organization not found');
  return found;
}
