export { findArchivedProject, listArchivedOperations, listArchivedProjects } from './archive.ts';
export { type HoleReason, type Interval, listCoverage, type ProjectCoverage } from './coverage.ts';
export { type FindingFilter, findPlan, listFindings, listPlans, listRuns } from './governance.ts';
export { type InventoryCoverage, listInventoryCoverage } from './inventory.ts';
export { type KeyFilter, listKeys } from './keys.ts';
export type { PageRequest, Position } from './keyset.ts';
export { listOperations, type OperationFilter } from './operations.ts';
export { authenticateToken, type Principal } from './tokens.ts';
export { pingStore, readTotals, type Totals } from './totals.ts';
