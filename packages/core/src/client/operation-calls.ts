import * as wire from '../wire/schemas.ts';
import { ControlPlaneError } from './errors.ts';
import type { CallOptions, ListOptions, Page } from './pagination.ts';
import { fetchPage, fetchPageEnd, fetchPages, type PageEnd, parse } from './replies.ts';
import type { Call } from './transport.ts';
import { type Time, type WaitOptions, waitForOperations } from './wait.ts';

/** Returns the client's methods for operations. */
export function operationCalls(call: Call, time: Time) {
  const shape = { list: 'operations', item: wire.operationSchema };
  const pageRequest = (projectId: string, { limit = 1000, cursor, signal }: ListOptions) => {
    const route = '/projects/{project_id}/operations';
    return { route, params: { project_id: projectId }, query: { limit, cursor }, signal };
  };
  const operationsPage = (projectId: string, page: ListOptions = {}): Promise<Page<wire.WireOperation>> =>
    fetchPage(call, pageRequest(projectId, page), shape);
  const operationsPageEnd = (projectId: string, page: ListOptions = {}): Promise<PageEnd> =>
    fetchPageEnd(call, pageRequest(projectId, page), shape);

  const operation = async (
    projectId: string,
    operationId: string,
    { signal }: CallOptions = {},
  ): Promise<wire.WireOperation> => {
    const route = '/projects/{project_id}/operations/{operation_id}';
    const params = { project_id: projectId, operation_id: operationId };
    const reply = await call({ method: 'GET', route, params, signal });
    const { operation } = parse(wire.oneOperationSchema, reply, route);
    if (operation.id === operationId && operation.projectId === projectId) return operation;
    const { status, requestId } = reply;
    throw new ControlPlaneError('invalid_response', `${route} returned another operation`, { status, requestId });
  };

  return {
    /**
     * Lists a project's operations in pages, newest first; `limit` is at most 1000. A cursor is the time of a page's last row, and the next page
     * starts strictly below it. Rows behind a page's end that share that time are therefore not returned.
     */
    operations: (projectId: string, page: ListOptions = {}): AsyncGenerator<Page<wire.WireOperation>, void> =>
      fetchPages(call, pageRequest(projectId, page), shape),

    /** Returns one page of a project's operations. */
    operationsPage,

    /** Returns where one page of a project's operations ends, for callers that need its cursor and not its rows. This takes a third of the work. */
    operationsPageEnd,

    /** Returns one operation. Rejects with `not_found` if it is unknown, or older than the control plane keeps. */
    operation,

    /** Polls operations, such as those of a created branch, until each ends. Returns the results in their order; `WaitOptions` sets the interval and the deadline. */
    waitForOperations: (operations: readonly { projectId: string; id: string }[], wait: WaitOptions = {}) =>
      waitForOperations((each, signal) => operation(each.projectId, each.id, { signal }), operations, {
        ...wait,
        time,
      }),
  };
}
