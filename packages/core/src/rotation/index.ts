export { decide, isOverdue, type Step } from './decide.ts';
export { isSuccessorName, lineageName, makeRotationId, mintIn, rotationIdIn, successorName } from './name.ts';
export { type OpeningLimits, openingLimits } from './opening.ts';
export { whyNoOrphan } from './orphan.ts';
export * from './rotation.ts';
export { firstState, isOver, mayFollow, type RotationState, rotationStates } from './states.ts';
export { advance, type Effects, type RotationEvent } from './transition.ts';
