// The parts of a pass that simulations, benchmarks and the testkit drive.
export { type Connection, type OpenOptions, openConnections } from './connect.ts';
export { type Context } from './context.ts';
export { applyPlan } from './enforce/apply.ts';
export { enforce } from './enforce/enforce.ts';
export { resumeEnforcement } from './enforce/high-water-mark.ts';
export { planKeys, readDocument } from './enforce/plan.ts';
export { silentProgress } from './progress.ts';
export { ruleOf } from './rotate/open.ts';
export { type Rotated, rotate } from './rotate/rotate.ts';
export { startDaemon } from './schedule/daemon.ts';
export { syncCredentials } from './sync/credentials.ts';
export { syncKeys } from './sync/keys.ts';
export { syncOperations } from './sync/operations.ts';
export { guardedSteps, type Steps } from './sync/project-operations.ts';
export { proofOf } from './sync/proof.ts';
export { type Walk, type WalkedPage, walkOperations } from './sync/walk.ts';
export { type WalkedClient } from './sync/whole-page.ts';
export { rankOf, verifyFile } from './verify/verify-file.ts';
