export { type BlindSpot, connectionList, listBlindSpots } from './connections/list.ts';
export { type HoleReason, type Interval, listCoverage, type ProjectCoverage } from './coverage/coverage.ts';
export { endExemption, grantExemption } from './exemptions/exemptions.ts';
export { coversOnly, type ExemptionFilter, exemptionList } from './exemptions/list.ts';
export { countByMonth, countFindingsByRule, countKeysByAge, type Figure, readPresent } from './figures/figures.ts';
export { type Gauge, gauges, readGauges } from './figures/gauges.ts';
export { addMark, readMark, reportMarkFile, reportOlderStore } from './high-water-mark.ts';
export { type IncidentFilter, incidentList } from './incidents/list.ts';
export { type InventoryCoverage, listDoubtedScopes, listInventoryCoverage } from './keys/inventory.ts';
export { type InventoryHole, listInventoryHoles } from './keys/inventory-holes.ts';
export { type KeyFilter, type KeyOrder, keyList, keyObservationList, keyUseList, seesKey } from './keys/list.ts';
export type { Inventoried } from './keys/source.ts';
export {
  countItems,
  type List,
  type Page,
  type PageRequest,
  type Position,
  type Reader,
  readOne,
  readPage,
  select,
  toStatement,
} from './list.ts';
export {
  type ArchivedRecord,
  listArchivedOperations,
  listArchivedOrganizations,
  listArchivedProjects,
} from './operations/archive.ts';
export {
  type BucketSize,
  findProjectNumbers,
  type OperationFilter,
  operationBucketList,
  operationList,
  operationVersionList,
} from './operations/list.ts';
export { pingStore, readTotals, type Totals } from './operations/totals.ts';
export { organizationList } from './organizations/organizations.ts';
export { approvePlan, hasApproved, rejectPlan } from './plans/decisions.ts';
export {
  type FindingFilter,
  findingList,
  listRules,
  planDecisionList,
  planList,
  readPlanDocument,
} from './plans/list.ts';
export { type ProjectFilter, projectList } from './projects/list.ts';
export {
  findReview,
  type ReviewFilter,
  type ReviewItemFilter,
  reviewDecisionList,
  reviewItemList,
  reviewList,
} from './reviews/list.ts';
export {
  decideReview,
  mostReviewed,
  type NewDecision,
  type NewReview,
  openReview,
  readReviewDocument,
  type Signature,
  signReview,
} from './reviews/reviews.ts';
export { type RevocationFilter, revocationList } from './revocations/list.ts';
export { type RotationFilter, rotationList, rotationRequestList } from './rotations/list.ts';
export { requestRotation } from './rotations/requests.ts';
export { type RunFilter, runList } from './runs/list.ts';
export { incidentKinds } from './schema/incidents.ts';
export { openSnapshot, type Snapshot } from './snapshot.ts';
export { type AccessFilter, accessList } from './tokens/access-list.ts';
export { type Access, recordAccess } from './tokens/access-log.ts';
export { authenticateToken, type Principal } from './tokens/authenticate.ts';
