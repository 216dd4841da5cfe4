export { incidentKinds } from '../incident-kinds.ts';
export { type AccessFilter, accessList } from './access-log.ts';
export {
  type ArchivedRecord,
  listArchivedOperations,
  listArchivedOrganizations,
  listArchivedProjects,
} from './archive.ts';
export { type BlindSpot, connectionList, listBlindSpots } from './connections.ts';
export { type HoleReason, type Interval, listCoverage, type ProjectCoverage } from './coverage.ts';
export { coversOnly, type ExemptionFilter, exemptionList } from './exemptions.ts';
export { countByMonth, countFindingsByRule, countKeysByAge, type Figure, readPresent } from './figures.ts';
export { type Gauge, gauges, readGauges } from './gauges.ts';
export {
  type FindingFilter,
  findingList,
  listRules,
  planDecisionList,
  planList,
  type RunFilter,
  readPlanDocument,
  runList,
} from './governance.ts';
export { type IncidentFilter, incidentList } from './incidents.ts';
export { type InventoryCoverage, listDoubtedScopes, listInventoryCoverage } from './inventory.ts';
export { type InventoryHole, listInventoryHoles } from './inventory-holes.ts';
export type { Inventoried } from './key-source.ts';
export { type KeyFilter, type KeyOrder, keyList, keyObservationList, keyUseList, seesKey } from './keys.ts';
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
  type BucketSize,
  findProjectNumbers,
  type OperationFilter,
  operationBucketList,
  operationList,
  operationVersionList,
} from './operations.ts';
export { organizationList, type ProjectFilter, projectList } from './places.ts';
export {
  findReview,
  type ReviewFilter,
  type ReviewItemFilter,
  reviewDecisionList,
  reviewItemList,
  reviewList,
} from './reviews.ts';
export { type RevocationFilter, revocationList } from './revocations.ts';
export { type RotationFilter, rotationList, rotationRequestList } from './rotations.ts';
export { openSnapshot, type Snapshot } from './snapshot.ts';
export { authenticateToken, type Principal } from './tokens.ts';
export { pingStore, readTotals, type Totals } from './totals.ts';
