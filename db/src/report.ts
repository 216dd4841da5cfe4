export { findShards, isCluster } from './cluster.ts';
export { areOwnKeys, connectionItem, connectionList, listBlindSpots } from './connections/list.ts';
export {
  gapReasons,
  listCoverage,
  operationCoverage,
  type ProjectCoverage,
  streamCoverage,
} from './coverage/coverage.ts';
export { endExemptionAs, grantExemptionAs } from './exemptions/exemptions.ts';
export { coversOnly, exemptionItem, exemptionList } from './exemptions/list.ts';
export {
  type Breakdown,
  breakDownKeys,
  countByMonth,
  countFindingsByRule,
  countKeysByAge,
  type Figure,
  readControlPlaneNow,
  readLastListing,
} from './figures/figures.ts';
export { gauges, readGauges } from './figures/gauges.ts';
export { readSuggestions, type SuggestedFilter, type Suggestion, suggestedFilters } from './figures/suggestions.ts';
export { readIdleTrend, type WeekCount } from './figures/trend.ts';
export { addMark, readMark, reportMarkFile, reportOlderStore } from './high-water-mark.ts';
export { incidentInWords } from './incidents/describe.ts';
export { incidentItem, incidentList } from './incidents/list.ts';
export { instant, isTime, unwrap } from './item.ts';
export { type Assessed, assess, assessedItems, judgeListed } from './keys/assessed.ts';
export { inventoryCoverage, listInventoryCoverage } from './keys/inventory/coverage.ts';
export { inventoryGap, listInventoryGaps } from './keys/inventory/gaps.ts';
export * from './keys/list.ts';
export type { InventoryKind } from './keys/source.ts';
export { listLedgerKeys } from './ledger/checkpoints.ts';
export { type LedgerRecordKind, ledgerEventItem, ledgerEventList, ledgerRecordKinds } from './ledger/list.ts';
export * from './ledger/receipts.ts';
export { readBundle, readTile } from './ledger/tree.ts';
export {
  countItems,
  type List,
  type Page,
  type PageRequest,
  type Position,
  pageSizes,
  type Query,
  type Reader,
  readItems,
  readOne,
  readPage,
  select,
} from './list.ts';
export * from './operations/archive.ts';
export * from './operations/list.ts';
export { readTotals, type Totals } from './operations/totals.ts';
export { organizationItem, organizationList } from './organizations/list.ts';
export { type Pause, readPause } from './pauses/pauses.ts';
export { approvePlan, hasApproved, rejectPlan } from './plans/decisions.ts';
export { type EnforcementState, readEnforcementState } from './plans/enforcement-state.ts';
export * from './plans/list.ts';
export { choosePart, derivePlanAs, listPartChoices, type PartFilter } from './plans/parts.ts';
export { projectItem, projectList } from './projects/list.ts';
export { readOver } from './reader.ts';
export { campaignItem, campaignList, cancelCampaign, type NewCampaign, openCampaign } from './reviews/campaigns.ts';
export * from './reviews/list.ts';
export {
  type Chosen,
  decideReview,
  mostReviewed,
  type NewDecision,
  openReview,
  readReviewDocument,
  readReviewDocumentOf,
  type Signature,
  signReview,
} from './reviews/reviews.ts';
export { revocationItem, revocationList } from './revocations/list.ts';
export { rotationItem, rotationList, rotationRequestItem, rotationRequestList } from './rotations/list.ts';
export { requestRotation } from './rotations/requests.ts';
export { runItem, runList } from './runs/list.ts';
export { reportTokenRoles as roles } from './schema/tokens.ts';
export * from './seals/list.ts';
export { openSnapshot, type Snapshot } from './snapshot.ts';
export { toStatement } from './sql.ts';
export { type Access, accessItem, accessList, recordAccess } from './tokens/access-log.ts';
export {
  authenticate,
  hashCredential,
  isStillLive,
  nameInRecords,
  type Principal,
  tokenReference,
} from './tokens/authenticate.ts';
export { endSession, openSession, sessionItem, sessionList } from './tokens/sessions.ts';
