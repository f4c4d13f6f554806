// What `blocks` of a message may hold; its JSON schema is made of Slack's own types.
import type { KnownBlock } from "@slack/types";
export type Blocks = KnownBlock[];
