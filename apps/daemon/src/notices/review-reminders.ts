import { reminderDue } from '@keywarden/core/policy';
import * as db from '@keywarden/db/daemon';
import type { Connection } from '../connect.ts';
import type { Context } from '../context.ts';
import { controlPlaneNow } from '../control-plane-clock.ts';
import { batchesOf, type ReviewBody } from './message.ts';
import { sendPending } from './notices.ts';

const types = { overdue: 'review.overdue', escalation: 'review.escalated' } as const;

/**
 * Reminds the reviewers of campaigns, once for each step and channel. At the due date it also opens an incident, and records the default decisions. A
 * failure is logged: it must not keep plans from being carried out.
 */
export async function remindReviewers(context: Context, connections: Connection[]): Promise<void> {
  const { store, config, log } = context;
  try {
    const unsigned = await db.listCampaignReviews(store.sql);
    await openIncidents(context, unsigned);
    const decided = await db.applyReviewDefaults(store.sql);
    if (decided > 0) log.info({ decided }, 'undecided keys of due reviews got the default decision');
    const reviews = decided > 0 ? await db.listCampaignReviews(store.sql) : unsigned;
    for (const channel of config.channels) {
      const written = await writeReminders(context, { channel: channel.name, reviews, connections });
      // What an earlier pass wrote was tried with the notices of this one.
      if (written > 0) await sendPending(context, { channel, connections });
    }
    await db.settleReviewReminders(store.sql);
  } catch (error) {
    context.signal.throwIfAborted();
    log.error({ err: error }, 'reviewers could not be reminded; the next pass tries again');
  }
}

/** Opens an incident for each campaign that is due, with what was undecided before the default decisions. */
async function openIncidents({ store }: Context, unsigned: db.CampaignReview[]): Promise<void> {
  const due = unsigned.filter(({ nowMs, dueMs }) => nowMs >= dueMs);
  for (const [campaign, reviews] of Map.groupBy(due, (review) => review.campaign)) {
    const undecided = reviews.reduce((sum, review) => sum + review.undecided, 0);
    const [first] = reviews;
    const detail = { title: first?.campaignTitle, due_at: first?.dueAt, unsigned: reviews.length, undecided };
    await db.openOverdueIncident(store.sql, campaign, detail);
  }
}

/** Writes the messages of one channel, one for each campaign, person and step. Returns how many. */
async function writeReminders(
  { store }: Context,
  { channel, reviews, connections }: { channel: string; reviews: db.CampaignReview[]; connections: Connection[] },
): Promise<number> {
  const due = reviews.flatMap((review) => {
    const step = reminderDue({ ...review, escalates: review.escalateTo !== null }, review.nowMs);
    const connection = connections.find(({ controlPlane }) => review.controlPlanes.includes(controlPlane));
    if (step === null || connection === undefined || review.written.includes(`${channel} ${step}`)) return [];
    const owner = step === 'escalation' ? (review.escalateTo ?? review.reviewer) : review.reviewer;
    return [{ review, step, connection, owner }];
  });
  const batches = batchesOf(due, ({ review, step, connection, owner }) => [
    review.campaign,
    step,
    connection.controlPlane,
    owner,
  ]);
  for (const batch of batches) {
    const [{ step, connection, owner }] = batch;
    const included = batch.map(({ review }) => review);
    const body = toReviewBody(included, { step, connection, owner });
    const reminder = { reviews: included.map(({ number }) => number), step };
    const { controlPlane } = connection;
    await db.writeMessage(store.sql, { controlPlane, channel, owner, body, notices: [], reminder });
  }
  return batches.length;
}

function toReviewBody(
  reviews: db.CampaignReview[],
  { step, connection, owner }: { step: string; connection: Connection; owner: string },
): ReviewBody {
  return {
    type: step === 'overdue' || step === 'escalation' ? types[step] : 'review.due',
    timestamp: controlPlaneNow(connection),
    data: {
      owner,
      control_plane: connection.identity,
      step,
      due_at: reviews[0]?.dueAt ?? '',
      reviews: reviews.map(({ number, title, reviewer, keys, undecided, byDefault }) => ({
        id: number,
        title,
        reviewer,
        keys,
        undecided,
        by_default: byDefault,
      })),
    },
  };
}
