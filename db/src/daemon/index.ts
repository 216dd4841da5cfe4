export {
  endExemption,
  grantExemption,
  listExemptions,
  type NewExemption,
  type StoredExemption,
} from '../exemptions.ts';
export { addMark, readMark, reportMarkFile } from '../high-water-mark.ts';
export {
  endReplica,
  listAccounts,
  removeOtherConnections,
  type SeenConnection,
  saveConnection,
} from './connections.ts';
export { type FactsAsked, readFacts, type ScopePlace } from './facts.ts';
export { endCredentialsOfGoneProjects } from './gone-projects.ts';
export { readHistory } from './history.ts';
export {
  closeIncident,
  closeIncidentsOf,
  closeSettledBreakers,
  hasOpenIncident,
  type Incident,
  listIncidents,
  openIncident,
  openIncidentOfKey,
  readIncidentOfKey,
} from './incidents.ts';
export {
  markWalkRefused,
  readMemberRole,
  saveDeletedProjects,
  saveMembers,
  saveOrganizations,
  saveProjects,
} from './inventory.ts';
export { finishJobRun, forgetOldJobs, type NewJobRun, openJobIncident, startJobRun } from './job-runs.ts';
export { type SavedListing, saveKeyListing } from './key-listing.ts';
export type { KeyListing } from './listing.ts';
export { staleWords } from './listing-doubts.ts';
export { factScope } from './names.ts';
export {
  endAnnouncements,
  listPending,
  listUntoldStalls,
  listWritten,
  type NewMessage,
  type PendingMessage,
  recordAttempt,
  writeMessage,
} from './notices.ts';
export {
  makeOperationPartitions,
  markOperationPruned,
  type Proof,
  saveOperationPage,
  type WalkStep,
} from './operation-pages.ts';
export { type Assignment, assignOwners, listLiveKeys, type NamedKey } from './owners.ts';
export { endPause, openPause, type Pause, readPause, withDestructiveCall } from './pauses.ts';
export {
  type Approval,
  approvePlan,
  endApproval,
  listReportApprovals,
  readPlan,
  readStanding,
  savePlan,
} from './plans.ts';
export {
  forgetRejectedRows,
  listRejectedRows,
  type RejectedPlace,
  type StoredRejectedRow,
  saveRejectedRows,
} from './rejected-rows.ts';
export { listReplicaPolicies, type ReplicaPolicy, sayPolicy } from './replica-policies.ts';
export { createBudgetRows } from './request-budgets.ts';
export {
  announceExpiredMonths,
  dropExpiredMonth,
  type ExpiredMonth,
  forgetAccesses,
  readOperationRetention,
} from './retention.ts';
export {
  beginRevocation,
  listGoneKeys,
  listObservers,
  listUnsettledScopes,
  type Outcome,
  type RevocationCause,
  readNow,
  reconcileIntents,
  recordOutcome,
} from './revocations.ts';
export { listSuspectedOrphans, readRotationFacts, type SuspectedOrphan } from './rotation-facts.ts';
export {
  countUnclear,
  hasOpenOrphan,
  isPlaceTaken,
  listOpenRotations,
  listRotations,
  readCanaries,
  readFailures,
  readLineKey,
  readRotation,
} from './rotation-reads.ts';
export {
  answerRotationRequest,
  listRotationRequests,
  type RotationRequest,
} from './rotation-requests.ts';
export { endSlot, isSlotDue } from './rotation-slots.ts';
export {
  moveRotation,
  openRotation,
  type RotatedKey,
  type StoredRotation,
} from './rotations.ts';
export { finishRun, hasFinishedRun, type RunKind, startRun } from './runs.ts';
export { claimSlot, readSlots, recordSlotJobs, type SlotState } from './schedule-slots.ts';
export { isCutOff } from './sudden-drop.ts';
export { createToken, ensureToken, listTokens, type Role, revokeToken, roles, type StoredToken } from './tokens.ts';
export {
  countOperationsSince,
  forgetOpenWalk,
  isAllToTheEnd,
  listOpenOperations,
  listProjectsToWalk,
  markHolesTried,
  type OpenOperation,
  type OpenWalk,
  type WalkedProject,
} from './walks.ts';
