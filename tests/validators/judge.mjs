// Reads {"slack": [blocks], "discord": [payloads], "webhook": [payloads]}; writes a line for each fault.
import { readFileSync } from "node:fs";
import Ajv from "ajv";
import { IncomingWebhookRequestPartialSchema, MessageCreateRequestSchema } from "discord-api-spec/zod";
import { createGenerator } from "ts-json-schema-generator";

const messages = JSON.parse(readFileSync(0, "utf8"));

const schema = createGenerator({
  path: "slack.ts",
  tsconfig: "tsconfig.json",
  type: "Blocks",
  skipTypeCheck: true,
  additionalProperties: false,
}).createSchema("Blocks");
const isBlocks = new Ajv({ strict: false }).compile(schema);

for (const [number, blocks] of messages.slack.entries()) {
  if (!isBlocks(blocks)) report("slack", number, isBlocks.errors[0]);
}
judge("discord", MessageCreateRequestSchema);
judge("webhook", IncomingWebhookRequestPartialSchema);

function judge(name, schema) {
  for (const [number, payload] of messages[name].entries()) {
    const verdict = schema.safeParse(payload);
    if (!verdict.success) report(name, number, verdict.error.issues[0]);
  }
}

function report(name, number, fault) {
  console.log(`${name} ${number}: ${JSON.stringify(fault).slice(0, 400)}`);
}
