export { removeOtherConnections, type SeenConnection, saveConnection } from './connections.ts';
export { factScope, readFacts } from './facts.ts';
export { saveMembers, saveOrganizations, saveProjects } from './inventory.ts';
export { type KeyListing, type SavedListing, saveKeyListing } from './key-listing.ts';
export { withLock } from './locks.ts';
export { ensureOperationPartitions, markOperationPruned, saveOperationPage } from './operation-pages.ts';
export { approvePlan, readPlan, savePlan } from './plans.ts';
export {
  beginRevocation,
  listGoneKeys,
  listObservers,
  type Outcome,
  readNow,
  reconcileIntents,
  recordOutcome,
} from './revocations.ts';
export { finishRun, type RunKind, startRun } from './runs.ts';
export { createToken, ensureToken, listTokens, type Role, revokeToken, roles } from './tokens.ts';
export { listOpenOperations, listProjectsToWalk, type WalkedProject } from './walks.ts';
