import { type Attributes, context, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { within } from './lifetime.ts';
import { describeError } from './log.ts';

/** The longest that an absent or hanging collector can delay the end of a process. */
const lastSpansMs = 2000;

/** Spans are dropped until `startTracing` is called. */
const tracer = () => trace.getTracer('keywarden');

/**
 * Sends traces to an OpenTelemetry collector over OTLP/HTTP, configured by the exporter's own OTEL_ variables. Does nothing without an endpoint.
 * Returns a function that sends the remaining spans and stops tracing.
 */
export async function startTracing(endpoint: string | undefined, service: string): Promise<() => Promise<void>> {
  if (endpoint === undefined) return () => Promise.resolve();
  // Loaded only if tracing is on, because it is larger than everything else that a command loads.
  const [
    { BatchSpanProcessor, TracerProvider },
    { OTLPTraceExporter },
    { AsyncLocalStorageContextManager },
    resources,
  ] = await Promise.all([
    import('@opentelemetry/sdk-trace'),
    import('@opentelemetry/exporter-trace-otlp-http'),
    import('@opentelemetry/context-async-hooks'),
    import('@opentelemetry/resources'),
  ]);
  const provider = new TracerProvider({
    resource: resources.defaultResource().merge(resources.resourceFromAttributes({ 'service.name': service })),
    spanProcessors: [new BatchSpanProcessor({ exporter: new OTLPTraceExporter() })],
  });
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  trace.setGlobalTracerProvider(provider);
  return async () => {
    const stopped = provider.shutdown().catch(() => undefined);
    await within(lastSpansMs, stopped, undefined);
    trace.disable();
    context.disable();
  };
}

/** Runs work as a span, which is the parent of the spans within it. Records an error only by class and code. */
export async function traced(name: string, attributes: Attributes, work: () => Promise<void>): Promise<void> {
  await tracer().startActiveSpan(name, { attributes }, async (span) => {
    try {
      await work();
    } catch (error) {
      span.setStatus({ code: SpanStatusCode.ERROR, message: describeError(error).code });
      throw error;
    } finally {
      span.end();
    }
  });
}

/** Records a span for a request that has already ended: one that this process sent (`client`) or answered (`server`). */
export function traceEnded(
  name: string,
  attributes: Attributes,
  { as, durationMs, isError }: { as: 'client' | 'server'; durationMs: number; isError: boolean },
): void {
  // Both times are of the wall clock: the monotonic one differs from it by hours if the clock was set or the machine was suspended.
  const endedMs = Date.now();
  const kind = as === 'client' ? SpanKind.CLIENT : SpanKind.SERVER;
  const span = tracer().startSpan(name, { kind, attributes, startTime: new Date(endedMs - durationMs) });
  if (isError) span.setStatus({ code: SpanStatusCode.ERROR });
  span.end(new Date(endedMs));
}
