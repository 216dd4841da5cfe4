export { type Evidence, evaluate, type Finding } from './evaluate.ts';
export type { Facts, KeyFacts, ScopeFacts, Use } from './facts.ts';
export { guard, type Verdict } from './guard.ts';
export { makePlan, type Plan, type PlanDocument, type PlanItem, sha256 } from './plan.ts';
export { defaultPolicy, type KeyKind, type Policy, policySchema } from './schema.ts';
