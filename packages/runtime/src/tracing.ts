import { setTimeout } from 'node:timers/promises';
import { type Attributes, context, SpanStatusCode, trace } from '@opentelemetry/api';

/** A collector that is away, or hangs, holds up the end of a process no longer. */
const lastSpansMs = 2000;

/** Spans go nowhere until `startTracing` has been called. */
const tracer = () => trace.getTracer('keywarden');

/**
 * Sends traces to an OpenTelemetry collector over OTLP/HTTP, with what the exporter's own OTEL_ variables say; without an endpoint to nobody.
 * The answer sends what is left and ends it.
 */
export async function startTracing(endpoint: string | undefined, service: string): Promise<() => Promise<void>> {
  if (endpoint === undefined) return () => Promise.resolve();
  // Loaded only where somebody listens: it is more than the rest of what a command loads.
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
    await Promise.race([
      provider.shutdown().catch(() => undefined),
      setTimeout(lastSpansMs, undefined, { ref: false }),
    ]);
  };
}

/** Work as a span, which is the parent of those within. Its error is told by class and code alone. */
export async function traced<T>(
  name: string,
  attributes: Attributes,
  work: () => Promise<T>,
  describe: (error: unknown) => string,
): Promise<T> {
  return await tracer().startActiveSpan(name, { attributes }, async (span) => {
    try {
      return await work();
    } catch (error) {
      span.setStatus({ code: SpanStatusCode.ERROR, message: describe(error) });
      throw error;
    } finally {
      span.end();
    }
  });
}

/** A span of what is over already. */
export function traceEnded(
  name: string,
  attributes: Attributes,
  { durationMs, isError }: { durationMs: number; isError: boolean },
): void {
  const span = tracer().startSpan(name, { attributes, startTime: Date.now() - durationMs });
  if (isError) span.setStatus({ code: SpanStatusCode.ERROR });
  span.end();
}
