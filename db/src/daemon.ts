export * from './connections/connections.ts';
export {
  type GapReason,
  gapReasons,
  type Interval,
  type ProjectCoverage,
  streamCoverage,
} from './coverage/coverage.ts';
export { endExemption, grantExemption } from './exemptions/exemptions.ts';
export { type Exemption, exemptionList } from './exemptions/list.ts';
export { type Gauge, gauges, readGauges } from './figures/gauges.ts';
export { countKeysOfDay } from './figures/trend.ts';
export {
  addMark,
  doubtOfStore,
  readLastOlder,
  readMark,
  readMarkTime,
  readTrustedTime,
  reportMarkFile,
} from './high-water-mark.ts';
export { incidentInWords } from './incidents/describe.ts';
export * from './incidents/incidents.ts';
export { type Incident, listIncidents } from './incidents/list.ts';
export { finishJobRun, forgetOldJobs, openJobIncident, startJobRun } from './jobs/runs.ts';
export { claimSlot, readSlots, recordSlotJobs } from './jobs/slots.ts';
export { readHistory } from './keys/facts/history.ts';
export type { ScopeReference } from './keys/facts/of-scopes.ts';
export { readFacts } from './keys/facts/read.ts';
export { type InventoryCoverage, listInventoryCoverage, listSuspectScopes } from './keys/inventory/coverage.ts';
export { type KeyFilter, keyList, keyObservationList, keyUseList } from './keys/list.ts';
export { endCredentialsOfGoneProjects } from './keys/listings/gone-projects.ts';
export { scopeKeyOf } from './keys/listings/listing.ts';
export { type SavedListing, saveKeyListing } from './keys/listings/save.ts';
export { isCutOff } from './keys/listings/suspect.ts';
export { findTreeFault, listLedgerRowFaults } from './ledger/check.ts';
export * from './ledger/checkpoints.ts';
export { ledgerEventList } from './ledger/list.ts';
export { listChangedMachinery } from './ledger/machinery.ts';
export { makeReceipts, readPlacedEvents, readReceipt, readSignedTree } from './ledger/receipts.ts';
export { type Inconsistency, integrateEvents } from './ledger/sequencer.ts';
export { continues, readConsistency } from './ledger/tree.ts';
export { createBudgetRows } from './limits/request-budgets.ts';
export { readItems } from './list.ts';
export { isHeld } from './locks.ts';
export * from './notifications/notices.ts';
export { markOperationPruned, type Proof, saveOperationPage, type UnreadRow } from './operations/pages.ts';
export { MonthNotAdded, makeOperationPartitions, makePartitionsAhead } from './operations/partitions.ts';
export {
  announceExpiredMonths,
  dropExpiredMonth,
  type ExpiredMonth,
  readOperationRetention,
} from './operations/retention.ts';
export { readTotals } from './operations/totals.ts';
export * from './operations/walks.ts';
export * from './organizations/organizations.ts';
export { type Assignment, assignOwners, listKeyOwners, listLiveKeys, type NamedKey } from './owners/owners.ts';
export { endPause, openPause, readPause, withDestructiveCall } from './pauses/pauses.ts';
export { saveEnforcementState } from './plans/enforcement-state.ts';
export { choosePart, derivePlan } from './plans/parts.ts';
export * from './plans/plans.ts';
export { listUnknownProjects, markWalkRefused, saveDeletedProjects, saveProjects } from './projects/projects.ts';
export * from './rejected-rows/rejected-rows.ts';
export { listReplicaPolicies, type ReplicaPolicy, recordReplicaPolicy } from './replicas/policies.ts';
export * from './reviews/reminders.ts';
export { reportBrokenReviews } from './reviews/reviews.ts';
export {
  beginRevocation,
  hasIntent,
  listGoneKeys,
  listUnsettledScopes,
  type RevocationCause,
  reconcileIntents,
  recordOutcome,
} from './revocations/revocations.ts';
export * from './rotations/facts.ts';
export { listLostSuccessors, listLostSuccessorsOf } from './rotations/lost-successors.ts';
export * from './rotations/reads.ts';
export { listRotationRequests, refuseRotationRequest, withdrawnInWords } from './rotations/requests.ts';
export { advanceRotation, openRotation, type RotatedKey, type StoredRotation } from './rotations/rotations.ts';
export { endSlot, isSlotDue } from './rotations/slots.ts';
export { finishRun, hasFinishedRun, type RunKind, startRun } from './runs/runs.ts';
export type { PlanApprovalVia } from './schema/plans.ts';
export { reportTokenRoles as roles } from './schema/tokens.ts';
export { checkSeals } from './seals/check.ts';
export { sealDays } from './seals/seals.ts';
export { endStuckSessions } from './silence.ts';
export { isRefusedRow } from './sql.ts';
export { forgetAccesses } from './tokens/access-log.ts';
export type { Role } from './tokens/authenticate.ts';
export { revokeSession, sessionList } from './tokens/sessions.ts';
export * from './tokens/tokens.ts';
