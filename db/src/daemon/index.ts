export { removeOtherConnections, type SeenConnection, saveConnection } from './connections.ts';
export { factScope, readFacts } from './facts.ts';
export { closeIncident, type Incident, listIncidents } from './incidents.ts';
export { saveMembers, saveOrganizations, saveProjects } from './inventory.ts';
export { type KeyListing, type SavedListing, saveKeyListing } from './key-listing.ts';
export { withLock } from './locks.ts';
export {
  makeOperationPartitions,
  markOperationPruned,
  type Proof,
  saveOperationPage,
  type WalkStep,
} from './operation-pages.ts';
export { endPause, openPause, type Pause, readPause, withDestructiveCall } from './pauses.ts';
export { approvePlan, readPlan, savePlan } from './plans.ts';
export { announceExpiredMonths, dropExpiredMonth, type ExpiredMonth, readOperationRetention } from './retention.ts';
export {
  beginRevocation,
  listGoneKeys,
  listObservers,
  type Outcome,
  readNow,
  reconcileIntents,
  recordOutcome,
} from './revocations.ts';
export { finishRun, hasFinishedRun, type RunKind, startRun } from './runs.ts';
export { createToken, ensureToken, listTokens, type Role, revokeToken, roles } from './tokens.ts';
export {
  countOperationsSince,
  forgetOpenWalk,
  listOpenOperations,
  listProjectsToWalk,
  type OpenOperation,
  type OpenWalk,
  type WalkedProject,
} from './walks.ts';
