// Generated from the protocol crate by `cargo regenerate`. Not to be edited.
//
// One message is one JSON object. A response is `{ id, result }` or `{ error, id }`. Every notification of the server
// has a third member beside `method` and `params`: `emittedAtMs`, unix milliseconds.

/** Id of a request; echoed in its response. */
export type RequestId = string | number;

/** Params and result of each method. */
export type Methods = {
  "initialize": { params: InitializeParams, result: InitializeResponse },
  "thread/start": { params: ThreadStartParams, result: ThreadStartResponse },
  "thread/resume": { params: ThreadResumeParams, result: ThreadResumeResponse },
  "thread/read": { params: ThreadReadParams, result: ThreadReadResponse },
  "thread/list": { params: ThreadListParams, result: ThreadListResponse },
  "thread/loaded/list": { params: ThreadLoadedListParams, result: ThreadLoadedListResponse },
  "thread/name/set": { params: ThreadNameSetParams, result: Empty },
  "thread/archive": { params: ThreadIdParams, result: Empty },
  "thread/unarchive": { params: ThreadIdParams, result: ThreadResponse },
  "thread/unsubscribe": { params: ThreadIdParams, result: ThreadUnsubscribeResponse },
  "thread/fork": { params: ThreadForkParams, result: ThreadStartResponse },
  "thread/turns/list": { params: ThreadTurnsListParams, result: ThreadTurnsListResponse },
  "thread/items/list": { params: ThreadItemsListParams, result: ThreadItemsListResponse },
  "turn/start": { params: TurnStartParams, result: TurnStartResponse },
  "turn/steer": { params: TurnSteerParams, result: TurnSteerResponse },
  "turn/interrupt": { params: TurnInterruptParams, result: Empty },
  "model/list": { params: ModelListParams, result: ModelListResponse },
  "config/read": { params: ConfigReadParams, result: ConfigReadResponse },
  "account/read": { params: AccountReadParams, result: AccountReadResponse },
  "permissionProfile/list": { params: PermissionProfileListParams, result: PermissionProfileListResponse },
};

/** A request from a client to the server. */
export type ClientRequest = {
  [M in keyof Methods]: { id: RequestId, method: M, params: Methods[M]["params"] }
}[keyof Methods];

/** A notification from a client to the server. */
export type ClientNotification = { method: "initialized" };

/**
 * Params of `account/read`.
 */
export type AccountReadParams = {
/**
 * Accepted and ignored.
 */
refreshToken?: boolean | null, };

/**
 * Result of `account/read`.
 */
export type AccountReadResponse = {
/**
 * Always null here.
 */
account: JsonValue | null,
/**
 * Always null here.
 */
userId: string | null,
/**
 * Always false here: clients must not ask for a login.
 */
requiresOpenaiAuth: boolean,
/**
 * Reserved; always null here.
 */
workspaceRouting: JsonValue | null, };

/**
 * Why an active thread waits.
 */
export type ActiveFlag = "waitingOnApproval" | "waitingOnUserInput";

/**
 * An assistant message.
 */
export type AgentMessageItem = {
/**
 * Reserved by the protocol; always null here.
 */
moderation: JsonValue | null,
/**
 * The model's own item id, or a generated one.
 */
id: string,
/**
 * The text so far (complete once `completedAtMs` is set).
 */
text: string,
/**
 * `commentary`, `final_answer` or null, as the model labelled it.
 */
phase: string | null,
/**
 * Reserved by the protocol; always null here.
 */
memoryCitation: JsonValue | null,
/**
 * Reserved by the protocol; always null here.
 */
delivery: JsonValue | null,
/**
 * Reserved by the protocol; always null here.
 */
questions: JsonValue | null,
/**
 * Unix milliseconds.
 */
startedAtMs: number | null,
/**
 * Unix milliseconds.
 */
completedAtMs: number | null, };

/**
 * What the user decided.
 */
export type ApprovalDecision = "accept" | "acceptForSession" | "decline" | "cancel";

/**
 * The answer to either request.
 */
export type ApprovalResponse = {
/**
 * The decision.
 */
decision: ApprovalDecision, };

/**
 * When the daemon asks before it acts.
 */
export type AskForApproval = "untrusted" | "on-request" | "never";

/**
 * What a client can do and wants.
 */
export type ClientCapabilities = {
/**
 * Whether it may call experimental methods and wants experimental members.
 */
experimentalApi?: boolean | null,
/**
 * Exact names of notifications this connection does not want. Unknown names are ignored.
 */
optOutNotificationMethods?: Array<string> | null, };

/**
 * The client.
 */
export type ClientInfo = {
/**
 * Name for programs; becomes `thread.originator`.
 */
name: string,
/**
 * Name for people.
 */
title?: string | null,
/**
 * Its version.
 */
version: string, };

/**
 * What a command does, as far as it is understood.
 */
export type CommandAction = { "type": "read",
/**
 * The command.
 */
command: string,
/**
 * Shown name of the file.
 */
name: string,
/**
 * Path of the file.
 */
path: string, } | { "type": "listFiles",
/**
 * The command.
 */
command: string,
/**
 * The folder, if one was named.
 */
path: string | null, } | { "type": "search",
/**
 * The command.
 */
command: string,
/**
 * What is searched for.
 */
query: string | null,
/**
 * Where.
 */
path: string | null, } | { "type": "unknown",
/**
 * The command.
 */
command: string, };

/**
 * A command execution.
 */
export type CommandExecutionItem = {
/**
 * The model's call id.
 */
id: string,
/**
 * Reserved by the protocol; always null here.
 */
pluginId: string | null,
/**
 * Reserved by the protocol; always null here.
 */
scriptPath: string | null,
/**
 * The command line as a shell would take it, e.g. `/bin/bash -lc 'ls'`.
 */
command: string,
/**
 * Absolute working directory.
 */
cwd: string,
/**
 * Id of the running process, if it is known.
 */
processId: string | null,
/**
 * Who started it: `agent` (waits for approval), `unifiedExecStartup`, `userShell`.
 */
source: string,
/**
 * How it stands.
 */
status: CommandStatus,
/**
 * What it does.
 */
commandActions: Array<CommandAction>,
/**
 * stdout and stderr as they came, at most 1 MiB (head and tail); null before the first byte.
 */
aggregatedOutput: string | null,
/**
 * Exit code; null while it runs and when it ended by a signal from us.
 */
exitCode: number | null,
/**
 * Wall time in milliseconds.
 */
durationMs: number | null,
/**
 * Unix milliseconds.
 */
startedAtMs: number | null,
/**
 * Unix milliseconds.
 */
completedAtMs: number | null, };

/**
 * Params of `item/commandExecution/requestApproval`.
 */
export type CommandExecutionRequestApprovalParams = {
/**
 * Always `command` here.
 */
kind: string,
/**
 * The thread.
 */
threadId: string,
/**
 * The turn that waits.
 */
turnId: string,
/**
 * The item it is about (the model's call id).
 */
itemId: string,
/**
 * Unix milliseconds.
 */
startedAtMs: number,
/**
 * Always `local` here.
 */
environmentId: string,
/**
 * Why the model wants it.
 */
reason: string | null,
/**
 * The command line as a shell would take it.
 */
command: string,
/**
 * Absolute working directory.
 */
cwd: string,
/**
 * What it does.
 */
commandActions: Array<CommandAction>,
/**
 * Decisions that make sense, best first. Sent only to clients that asked for the experimental API.
 */
availableDecisions?: Array<ApprovalDecision> | null, };

/**
 * How a command stands.
 */
export type CommandStatus = "inProgress" | "completed" | "failed" | "declined";

/**
 * A layer.
 */
export type ConfigLayer = {
/**
 * Which.
 */
name: ConfigLayerName,
/**
 * Changes with the layer's content: `sha256:…`.
 */
version: string,
/**
 * What it says.
 */
config: { [key in string]: JsonValue },
/**
 * Why it does not count, if it does not.
 */
disabledReason?: string | null, };

/**
 * Which layer.
 */
export type ConfigLayerName = { "type": "system",
/**
 * Absolute path.
 */
file: string, } | { "type": "user",
/**
 * Absolute path.
 */
file: string,
/**
 * Profile within it, if one was chosen.
 */
profile: string | null, } | { "type": "project",
/**
 * Absolute folder it lies in. (The protocol's name for it.)
 */
dotCodexFolder: string, } | { "type": "sessionFlags" };

/**
 * Where a value came from.
 */
export type ConfigOrigin = {
/**
 * The layer.
 */
name: ConfigLayerName,
/**
 * Changes with the layer's content: `sha256:…`.
 */
version: string, };

/**
 * Params of `config/read`.
 */
export type ConfigReadParams = {
/**
 * Fill `layers`.
 */
includeLayers?: boolean | null,
/**
 * Working directory whose project configuration counts.
 */
cwd?: string | null, };

/**
 * Result of `config/read`.
 */
export type ConfigReadResponse = {
/**
 * The configuration in force, keys as in `config.toml`. Secrets are left out.
 */
config: { [key in string]: JsonValue },
/**
 * Where each value came from, by dotted key.
 */
origins: { [key in string]: ConfigOrigin },
/**
 * The layers, strongest first; null unless they were asked for.
 */
layers: Array<ConfigLayer> | null, };

/**
 * One working directory or several.
 */
export type CwdFilter = string | Array<string>;

/**
 * A result that says nothing but "done": `{}`.
 */
export type Empty = Record<symbol, never>;

/**
 * The error of a response.
 */
export type ErrorObject = {
/**
 * One of the codes above.
 */
code: number,
/**
 * For people; some clients match on it, so wording follows the protocol.
 */
message: string,
/**
 * For programs: an object with the stable word `kind` and whatever belongs to it.
 */
data?: JsonValue | null, };

/**
 * A patch.
 */
export type FileChangeItem = {
/**
 * The model's call id.
 */
id: string,
/**
 * The files.
 */
changes: Array<FileUpdateChange>,
/**
 * How it stands.
 */
status: PatchStatus,
/**
 * Unix milliseconds.
 */
startedAtMs: number | null,
/**
 * Unix milliseconds.
 */
completedAtMs: number | null, };

/**
 * Params of `item/fileChange/requestApproval`.
 */
export type FileChangeRequestApprovalParams = {
/**
 * The thread.
 */
threadId: string,
/**
 * The turn that waits.
 */
turnId: string,
/**
 * The item it is about (the model's call id).
 */
itemId: string,
/**
 * Unix milliseconds.
 */
startedAtMs: number,
/**
 * Why it has to be asked.
 */
reason: string | null,
/**
 * Reserved; always null here.
 */
grantRoot: string | null, };

/**
 * One file of a patch.
 */
export type FileUpdateChange = {
/**
 * Absolute path.
 */
path: string,
/**
 * What happens.
 */
kind: PatchChangeKind,
/**
 * Add and delete: the whole text; update: unified hunks without file headers, then `\n\nMoved to: PATH` for a move.
 */
diff: string, };

/**
 * Git facts of the working directory when the thread was started.
 */
export type GitInfo = {
/**
 * Commit.
 */
sha: string | null,
/**
 * Branch.
 */
branch: string | null,
/**
 * URL of `origin`.
 */
originUrl: string | null, };

/**
 * Params of `initialize`.
 */
export type InitializeParams = {
/**
 * The client.
 */
clientInfo: ClientInfo,
/**
 * What it can do and wants.
 */
capabilities?: ClientCapabilities | null, };

/**
 * Result of `initialize`.
 */
export type InitializeResponse = {
/**
 * `<client name>/<protocol version> (<os>; <arch>) …`. Clients cut the version out, so the shape is fixed.
 */
userAgent: string,
/**
 * Absolute home directory of the daemon. (The protocol's name for it.)
 */
codexHome: string,
/**
 * `unix`.
 */
platformFamily: string,
/**
 * `linux`.
 */
platformOs: string, };

/**
 * Which items a `Turn` object carries.
 */
export type ItemsView = "notLoaded" | "summary" | "full";

export type JsonValue = number | string | boolean | Array<JsonValue> | { [key in string]: JsonValue } | null;

/**
 * A model.
 */
export type Model = {
/**
 * Same as `model`.
 */
id: string,
/**
 * Model slug.
 */
model: string,
/**
 * Reserved; always null here.
 */
upgrade: string | null,
/**
 * Reserved; always null here.
 */
upgradeInfo: JsonValue | null,
/**
 * Reserved; always null here.
 */
availabilityNux: JsonValue | null,
/**
 * Name for people.
 */
displayName: string,
/**
 * For people.
 */
description: string,
/**
 * Reserved; always null here.
 */
modelSpecialty: JsonValue | null,
/**
 * Whether pickers should leave it out.
 */
hidden: boolean,
/**
 * Efforts it takes.
 */
supportedReasoningEfforts: Array<ReasoningEffortOption>,
/**
 * The effort it has if none is asked for.
 */
defaultReasoningEffort: string,
/**
 * `text`, `image`.
 */
inputModalities: Array<string>,
/**
 * Whether it takes a personality.
 */
supportsPersonality: boolean,
/**
 * Reserved; always null here.
 */
multiAgentVersion: string | null,
/**
 * Always empty here.
 */
additionalSpeedTiers: Array<string>,
/**
 * Service tiers it can be asked for.
 */
serviceTiers: Array<ServiceTier>,
/**
 * Tier it has if none is asked for.
 */
defaultServiceTier: string | null,
/**
 * Reserved; always null here.
 */
availableAccessPrograms: JsonValue | null,
/**
 * Whether it is the one a thread gets that names none.
 */
isDefault: boolean, };

/**
 * Params of `model/list`.
 */
export type ModelListParams = {
/**
 * Where an earlier page ended.
 */
cursor?: string | null,
/**
 * At most this many.
 */
limit?: number | null,
/**
 * Hidden models too.
 */
includeHidden?: boolean | null, };

/**
 * Result of `model/list`.
 */
export type ModelListResponse = {
/**
 * The models.
 */
data: Array<Model>,
/**
 * For the next page, if there is more.
 */
nextCursor: string | null, };

/**
 * What happens to one file.
 */
export type PatchChangeKind = { "type": "add" } | { "type": "delete" } | { "type": "update",
/**
 * New absolute path, or null. (snake_case on the wire, as in the protocol.)
 */
move_path: string | null, };

/**
 * How a patch stands.
 */
export type PatchStatus = "inProgress" | "completed" | "failed" | "declined";

/**
 * Params of `permissionProfile/list`.
 */
export type PermissionProfileListParams = {
/**
 * Where an earlier page ended.
 */
cursor?: string | null,
/**
 * At most this many.
 */
limit?: number | null,
/**
 * Working directory whose project configuration counts.
 */
cwd?: string | null, };

/**
 * Result of `permissionProfile/list`.
 */
export type PermissionProfileListResponse = {
/**
 * Always empty here.
 */
data: Array<JsonValue>,
/**
 * Always null here.
 */
nextCursor: string | null, };

/**
 * One step of the model's plan.
 */
export type PlanStep = {
/**
 * What.
 */
step: string,
/**
 * How it stands.
 */
status: PlanStepStatus, };

/**
 * How a step stands.
 */
export type PlanStepStatus = "pending" | "inProgress" | "completed";

/**
 * A reasoning effort.
 */
export type ReasoningEffortOption = {
/**
 * The word to send.
 */
reasoningEffort: string,
/**
 * For people.
 */
description: string, };

/**
 * Reasoning of the model as far as it is shown.
 */
export type ReasoningItem = {
/**
 * The model's own item id, or a generated one.
 */
id: string,
/**
 * Summary parts in order.
 */
summary: Array<string>,
/**
 * Raw reasoning parts in order; empty unless the provider sends them.
 */
content: Array<string>,
/**
 * Unix milliseconds.
 */
startedAtMs: number | null,
/**
 * Unix milliseconds.
 */
completedAtMs: number | null, };

/**
 * Shorthand for a sandbox policy, as in `thread/start` and `config.toml`.
 */
export type SandboxMode = "read-only" | "workspace-write" | "danger-full-access";

/**
 * What commands may do.
 */
export type SandboxPolicy = { "type": "dangerFullAccess" } | { "type": "readOnly",
/**
 * Whether commands reach the network.
 */
networkAccess: boolean, } | { "type": "workspaceWrite",
/**
 * Further writable folders (absolute).
 */
writableRoots: Array<string>,
/**
 * Whether commands reach the network.
 */
networkAccess: boolean,
/**
 * Leave `$TMPDIR` out of the writable roots.
 */
excludeTmpdirEnvVar: boolean,
/**
 * Leave `/tmp` out of the writable roots.
 */
excludeSlashTmp: boolean, };

/**
 * A notification.
 */
export type ServerNotification = { "method": "thread/started", "params": {
/**
 * The thread, without turns.
 */
thread: Thread, } } | { "method": "thread/status/changed", "params": {
/**
 * The thread.
 */
threadId: string,
/**
 * How it stands.
 */
status: ThreadStatus, } } | { "method": "thread/name/updated", "params": {
/**
 * The thread.
 */
threadId: string,
/**
 * Its name from now on.
 */
threadName: string | null, } } | { "method": "thread/archived", "params": {
/**
 * The thread.
 */
threadId: string, } } | { "method": "thread/unarchived", "params": {
/**
 * The thread.
 */
threadId: string, } } | { "method": "thread/settings/updated", "params": {
/**
 * The thread.
 */
threadId: string,
/**
 * The settings from now on.
 */
threadSettings: ThreadSettings, } } | { "method": "thread/tokenUsage/updated", "params": {
/**
 * The thread.
 */
threadId: string,
/**
 * The turn.
 */
turnId: string,
/**
 * Usage of the thread.
 */
tokenUsage: ThreadTokenUsage, } } | { "method": "turn/started", "params": {
/**
 * The thread.
 */
threadId: string,
/**
 * The turn.
 */
turn: Turn, } } | { "method": "turn/completed", "params": {
/**
 * The thread.
 */
threadId: string,
/**
 * The turn; `items` holds the last agent message only.
 */
turn: Turn, } } | { "method": "turn/diff/updated", "params": {
/**
 * The thread.
 */
threadId: string,
/**
 * The turn.
 */
turnId: string,
/**
 * The diff.
 */
diff: string, } } | { "method": "turn/plan/updated", "params": {
/**
 * The thread.
 */
threadId: string,
/**
 * The turn.
 */
turnId: string,
/**
 * Why it changed.
 */
explanation: string | null,
/**
 * The steps.
 */
plan: Array<PlanStep>, } } | { "method": "item/started", "params": {
/**
 * The item.
 */
item: ThreadItem,
/**
 * The thread.
 */
threadId: string,
/**
 * The turn.
 */
turnId: string,
/**
 * Unix milliseconds.
 */
startedAtMs: number, } } | { "method": "item/completed", "params": {
/**
 * The item.
 */
item: ThreadItem,
/**
 * The thread.
 */
threadId: string,
/**
 * The turn.
 */
turnId: string,
/**
 * Reserved; always null here.
 */
contentTokenCount: number | null,
/**
 * Unix milliseconds.
 */
completedAtMs: number, } } | { "method": "item/agentMessage/delta", "params": {
/**
 * The thread.
 */
threadId: string,
/**
 * The turn.
 */
turnId: string,
/**
 * The item.
 */
itemId: string,
/**
 * The text.
 */
delta: string, } } | { "method": "item/reasoning/summaryPartAdded", "params": {
/**
 * The thread.
 */
threadId: string,
/**
 * The turn.
 */
turnId: string,
/**
 * The item.
 */
itemId: string,
/**
 * Part index.
 */
summaryIndex: number, } } | { "method": "item/reasoning/summaryTextDelta", "params": {
/**
 * The thread.
 */
threadId: string,
/**
 * The turn.
 */
turnId: string,
/**
 * The item.
 */
itemId: string,
/**
 * The text.
 */
delta: string,
/**
 * Part index.
 */
summaryIndex: number, } } | { "method": "item/reasoning/textDelta", "params": {
/**
 * The thread.
 */
threadId: string,
/**
 * The turn.
 */
turnId: string,
/**
 * The item.
 */
itemId: string,
/**
 * The text.
 */
delta: string,
/**
 * Part index.
 */
contentIndex: number, } } | { "method": "item/commandExecution/outputDelta", "params": {
/**
 * The thread.
 */
threadId: string,
/**
 * The turn.
 */
turnId: string,
/**
 * The item.
 */
itemId: string,
/**
 * The text, at most 8,192 bytes.
 */
delta: string, } } | { "method": "serverRequest/resolved", "params": {
/**
 * The thread.
 */
threadId: string,
/**
 * Id of the server request.
 */
requestId: number, } } | { "method": "error", "params": {
/**
 * What.
 */
error: TurnError,
/**
 * Whether the daemon tries again by itself.
 */
willRetry: boolean,
/**
 * The thread.
 */
threadId: string,
/**
 * The turn.
 */
turnId: string, } } | { "method": "warning", "params": {
/**
 * The thread, if it is about one.
 */
threadId: string | null,
/**
 * For people.
 */
message: string, } } | { "method": "configWarning", "params": {
/**
 * For people.
 */
summary: string,
/**
 * More for people.
 */
details: string | null, } } | { "method": "account/rateLimits/updated", "params": {
/**
 * The limits.
 */
rateLimits: JsonValue, } };

/**
 * A request from the server to its clients.
 */
export type ServerRequest = { "method": "item/commandExecution/requestApproval", "params": CommandExecutionRequestApprovalParams } | { "method": "item/fileChange/requestApproval", "params": FileChangeRequestApprovalParams };

/**
 * A service tier.
 */
export type ServiceTier = {
/**
 * The word to send.
 */
id: string,
/**
 * Name for people.
 */
name: string,
/**
 * For people.
 */
description: string, };

/**
 * Which way a list runs.
 */
export type SortDirection = "asc" | "desc";

/**
 * A thread. Members that the protocol reserves for features agentd does not have are always null.
 */
export type Thread = {
/**
 * Thread id (uuid v7).
 */
id: string,
/**
 * Where commands run.
 */
environments: Array<ThreadEnvironment> | null,
/**
 * Reserved.
 */
extra: JsonValue | null,
/**
 * Same as `id`.
 */
sessionId: string,
/**
 * The thread this one was forked from.
 */
forkedFromId: string | null,
/**
 * Reserved.
 */
attachedToThreadId: string | null,
/**
 * Reserved.
 */
parentThreadId: string | null,
/**
 * Text of the first user message.
 */
preview: string,
/**
 * Whether the thread is forgotten when it is unloaded.
 */
ephemeral: boolean,
/**
 * Reserved.
 */
section: JsonValue | null,
/**
 * Reserved.
 */
sectionEnteredAt: number | null,
/**
 * Reserved.
 */
projectId: string | null,
/**
 * Always `paginated`.
 */
historyMode: string,
/**
 * Provider id.
 */
modelProvider: string,
/**
 * Model slug.
 */
model: string,
/**
 * Reasoning effort, if one was asked for.
 */
reasoningEffort: string | null,
/**
 * Unix seconds.
 */
createdAt: number,
/**
 * Unix seconds.
 */
updatedAt: number,
/**
 * Unix seconds; what `thread/list` sorts by.
 */
recencyAt: number,
/**
 * How it stands.
 */
status: ThreadStatus,
/**
 * Always null: rollouts are rows of a database, not files.
 */
path: string | null,
/**
 * Absolute working directory.
 */
cwd: string,
/**
 * Protocol version the daemon speaks.
 */
cliVersion: string,
/**
 * `clientInfo.name` of the client that started the thread.
 */
originator: string,
/**
 * Always `vscode` for threads that app-server clients started (a word the protocol fixes).
 */
source: string,
/**
 * Whether `turn/start` is possible.
 */
canAcceptDirectInput: boolean,
/**
 * Echo of `threadSource`.
 */
threadSource: string | null,
/**
 * Reserved.
 */
agentNickname: string | null,
/**
 * Reserved.
 */
agentRole: string | null,
/**
 * Git facts.
 */
gitInfo: GitInfo | null,
/**
 * Name the user gave.
 */
name: string | null,
/**
 * Reserved.
 */
daybreakEnabled: boolean | null,
/**
 * Turns in order; empty unless they were asked for.
 */
turns: Array<Turn>, };

/**
 * Where commands run.
 */
export type ThreadEnvironment = {
/**
 * Always `local` here.
 */
environmentId: string,
/**
 * Absolute working directory.
 */
cwd: string,
/**
 * Absolute folders of the workspace.
 */
runtimeWorkspaceRoots: Array<string>, };

/**
 * Params of `thread/fork`. The settings override those of the source.
 */
export type ThreadForkParams = {
/**
 * The source.
 */
threadId: string,
/**
 * The last turn the fork has; without it: all.
 */
lastTurnId?: string | null,
/**
 * Model slug.
 */
model?: string | null,
/**
 * Provider id, a key of `model_providers`.
 */
modelProvider?: string | null,
/**
 * Working directory.
 */
cwd?: string | null,
/**
 * When to ask.
 */
approvalPolicy?: AskForApproval | null,
/**
 * Who answers approvals; only `user` is known.
 */
approvalsReviewer?: string | null,
/**
 * What commands may do, as a mode.
 */
sandbox?: SandboxMode | null,
/**
 * Configuration for this thread only: dotted keys, as in `config.toml`.
 */
config?: { [key in string]: JsonValue } | null,
/**
 * Whether the fork is forgotten when it is unloaded.
 */
ephemeral?: boolean | null,
/**
 * Service tier to ask the model service for.
 */
serviceTier?: string | null,
/**
 * Leave `thread.turns` empty.
 */
excludeTurns?: boolean | null, };

/**
 * Params of methods that need no more than the thread.
 */
export type ThreadIdParams = {
/**
 * The thread.
 */
threadId: string, };

/**
 * What clients see of a turn, tagged by `type`.
 */
export type ThreadItem = { "type": "userMessage" } & UserMessageItem | { "type": "agentMessage" } & AgentMessageItem | { "type": "reasoning" } & ReasoningItem | { "type": "commandExecution" } & CommandExecutionItem | { "type": "fileChange" } & FileChangeItem;

/**
 * An item with its turn.
 */
export type ThreadItemEntry = {
/**
 * The turn.
 */
turnId: string,
/**
 * The item.
 */
item: ThreadItem,
/**
 * Unix milliseconds.
 */
startedAtMs: number | null,
/**
 * Unix milliseconds.
 */
completedAtMs: number | null, };

/**
 * Params of `thread/items/list`.
 */
export type ThreadItemsListParams = {
/**
 * The thread.
 */
threadId: string,
/**
 * Only items of this turn.
 */
turnId?: string | null,
/**
 * Where an earlier page ended.
 */
cursor?: string | null,
/**
 * At most this many.
 */
limit?: number | null,
/**
 * Which way; oldest first by default.
 */
sortDirection?: SortDirection | null, };

/**
 * Result of `thread/items/list`.
 */
export type ThreadItemsListResponse = {
/**
 * The items.
 */
data: Array<ThreadItemEntry>,
/**
 * For the next page, if there is more.
 */
nextCursor: string | null,
/**
 * For what is before this page; only with the other sort direction.
 */
backwardsCursor: string | null, };

/**
 * Params of `thread/list`.
 */
export type ThreadListParams = {
/**
 * Where an earlier page ended.
 */
cursor?: string | null,
/**
 * At most this many.
 */
limit?: number | null,
/**
 * What to sort by.
 */
sortKey?: ThreadSortKey | null,
/**
 * Which way; newest first by default.
 */
sortDirection?: SortDirection | null,
/**
 * Only threads of these providers; empty means all.
 */
modelProviders?: Array<string> | null,
/**
 * Only threads of these sources; empty means all.
 */
sourceKinds?: Array<string> | null,
/**
 * Archived threads instead of the others.
 */
archived?: boolean | null,
/**
 * Only threads of these working directories.
 */
cwd?: CwdFilter | null,
/**
 * Only threads whose name or preview holds this text.
 */
searchTerm?: string | null,
/**
 * Accepted and ignored: there is nothing but the database here.
 */
useStateDbOnly?: boolean | null, };

/**
 * Result of `thread/list`.
 */
export type ThreadListResponse = {
/**
 * The threads, without turns.
 */
data: Array<Thread>,
/**
 * Reserved; always empty here.
 */
readStates: { [key in string]: JsonValue },
/**
 * For the next page, if there is more.
 */
nextCursor: string | null,
/**
 * For what is before this page; only with the other sort direction.
 */
backwardsCursor: string | null, };

/**
 * Params of `thread/loaded/list`.
 */
export type ThreadLoadedListParams = {
/**
 * Where an earlier page ended.
 */
cursor?: string | null,
/**
 * At most this many.
 */
limit?: number | null, };

/**
 * Result of `thread/loaded/list`.
 */
export type ThreadLoadedListResponse = {
/**
 * Ids of the threads in memory.
 */
data: Array<string>,
/**
 * For the next page, if there is more.
 */
nextCursor: string | null, };

/**
 * Params of `thread/name/set`.
 */
export type ThreadNameSetParams = {
/**
 * The thread.
 */
threadId: string,
/**
 * The name; not blank.
 */
name: string, };

/**
 * Params of `thread/read`.
 */
export type ThreadReadParams = {
/**
 * The thread, loaded or not.
 */
threadId: string,
/**
 * Fill `thread.turns`, with all items.
 */
includeTurns?: boolean | null, };

/**
 * Result of `thread/read`.
 */
export type ThreadReadResponse = {
/**
 * The thread.
 */
thread: Thread,
/**
 * Reserved; always null here.
 */
readState: JsonValue | null, };

/**
 * Result of methods that answer with the thread.
 */
export type ThreadResponse = {
/**
 * The thread, without turns.
 */
thread: Thread, };

/**
 * Params of `thread/resume`. The settings override those the thread was left with.
 */
export type ThreadResumeParams = {
/**
 * The thread.
 */
threadId: string,
/**
 * Model slug.
 */
model?: string | null,
/**
 * Provider id, a key of `model_providers`.
 */
modelProvider?: string | null,
/**
 * Working directory.
 */
cwd?: string | null,
/**
 * When to ask.
 */
approvalPolicy?: AskForApproval | null,
/**
 * Who answers approvals; only `user` is known.
 */
approvalsReviewer?: string | null,
/**
 * What commands may do, as a mode.
 */
sandbox?: SandboxMode | null,
/**
 * Configuration for this thread only: dotted keys, as in `config.toml`.
 */
config?: { [key in string]: JsonValue } | null,
/**
 * Replaces the base instructions; only a thread without turns takes it.
 */
baseInstructions?: string | null,
/**
 * Further instructions in the developer role; only a thread without turns takes them.
 */
developerInstructions?: string | null,
/**
 * Personality of the answers.
 */
personality?: string | null,
/**
 * Service tier to ask the model service for.
 */
serviceTier?: string | null,
/**
 * Leave `thread.turns` empty.
 */
excludeTurns?: boolean | null, };

/**
 * Result of `thread/resume`.
 */
export type ThreadResumeResponse = {
/**
 * Reserved; always null here.
 */
initialTurnsPage: JsonValue | null,
/**
 * The thread.
 */
thread: Thread,
/**
 * Model slug.
 */
model: string,
/**
 * Provider id.
 */
modelProvider: string,
/**
 * Service tier, if one was asked for.
 */
serviceTier: string | null,
/**
 * Always empty here.
 */
disabledPluginIds: Array<string>,
/**
 * Absolute working directory.
 */
cwd: string,
/**
 * Absolute folders of the workspace.
 */
runtimeWorkspaceRoots: Array<string>,
/**
 * Absolute paths of the AGENTS.md files in force.
 */
instructionSources: Array<string>,
/**
 * When to ask.
 */
approvalPolicy: AskForApproval,
/**
 * Who answers approvals; always `user` here.
 */
approvalsReviewer: string,
/**
 * What commands may do.
 */
sandbox: SandboxPolicy,
/**
 * Reserved; always null here.
 */
activePermissionProfile: JsonValue | null,
/**
 * Reasoning effort, if one was asked for.
 */
reasoningEffort: string | null,
/**
 * Always `explicitRequestOnly` here.
 */
multiAgentMode: string, };

/**
 * The settings a thread runs with; sticky over its turns.
 */
export type ThreadSettings = {
/**
 * Absolute working directory.
 */
cwd: string,
/**
 * When to ask.
 */
approvalPolicy: AskForApproval,
/**
 * Who answers approvals; always `user` here.
 */
approvalsReviewer: string,
/**
 * What commands may do.
 */
sandboxPolicy: SandboxPolicy,
/**
 * Model slug.
 */
model: string,
/**
 * Provider id, a key of `model_providers`.
 */
modelProvider: string,
/**
 * Service tier, if one was asked for.
 */
serviceTier: string | null,
/**
 * Reasoning effort (`low`, `medium`, …), if one was asked for.
 */
effort: string | null,
/**
 * Reasoning summary (`auto`, `concise`, `detailed`, `none`), if one was asked for.
 */
summary: string | null,
/**
 * Personality, if one was asked for.
 */
personality: string | null, };

/**
 * What threads are sorted by.
 */
export type ThreadSortKey = "created_at" | "updated_at" | "recency_at";

/**
 * Params of `thread/start`. What is left out comes from the configuration.
 */
export type ThreadStartParams = {
/**
 * Model slug.
 */
model?: string | null,
/**
 * Provider id, a key of `model_providers`.
 */
modelProvider?: string | null,
/**
 * Working directory. A relative one starts from the daemon's.
 */
cwd?: string | null,
/**
 * When to ask.
 */
approvalPolicy?: AskForApproval | null,
/**
 * Who answers approvals; only `user` is known.
 */
approvalsReviewer?: string | null,
/**
 * What commands may do, as a mode.
 */
sandbox?: SandboxMode | null,
/**
 * Configuration for this thread only: dotted keys, as in `config.toml`.
 */
config?: { [key in string]: JsonValue } | null,
/**
 * Replaces the base instructions.
 */
baseInstructions?: string | null,
/**
 * Further instructions in the developer role.
 */
developerInstructions?: string | null,
/**
 * Personality of the answers.
 */
personality?: string | null,
/**
 * Whether the thread is forgotten when it is unloaded.
 */
ephemeral?: boolean | null,
/**
 * Service tier to ask the model service for.
 */
serviceTier?: string | null,
/**
 * Name of the service the client belongs to; accepted and ignored.
 */
serviceName?: string | null,
/**
 * What the thread was started for; echoed in `thread.threadSource`.
 */
threadSource?: string | null, };

/**
 * Result of `thread/start` and `thread/fork`.
 */
export type ThreadStartResponse = {
/**
 * The thread.
 */
thread: Thread,
/**
 * Model slug.
 */
model: string,
/**
 * Provider id.
 */
modelProvider: string,
/**
 * Service tier, if one was asked for.
 */
serviceTier: string | null,
/**
 * Always empty here.
 */
disabledPluginIds: Array<string>,
/**
 * Absolute working directory.
 */
cwd: string,
/**
 * Absolute folders of the workspace.
 */
runtimeWorkspaceRoots: Array<string>,
/**
 * Absolute paths of the AGENTS.md files in force.
 */
instructionSources: Array<string>,
/**
 * When to ask.
 */
approvalPolicy: AskForApproval,
/**
 * Who answers approvals; always `user` here.
 */
approvalsReviewer: string,
/**
 * What commands may do.
 */
sandbox: SandboxPolicy,
/**
 * Reserved; always null here.
 */
activePermissionProfile: JsonValue | null,
/**
 * Reasoning effort, if one was asked for.
 */
reasoningEffort: string | null,
/**
 * Always `explicitRequestOnly` here.
 */
multiAgentMode: string, };

/**
 * How a thread stands.
 */
export type ThreadStatus = { "type": "notLoaded" } | { "type": "idle" } | { "type": "systemError" } | { "type": "active",
/**
 * Why it waits, if it does.
 */
activeFlags: Array<ActiveFlag>, };

/**
 * Usage of a thread.
 */
export type ThreadTokenUsage = {
/**
 * Sum over all responses of the thread.
 */
total: TokenUsageBreakdown,
/**
 * The last response.
 */
last: TokenUsageBreakdown,
/**
 * Size of the model's context window in tokens, if it is known.
 */
modelContextWindow: number | null, };

/**
 * Params of `thread/turns/list`.
 */
export type ThreadTurnsListParams = {
/**
 * The thread.
 */
threadId: string,
/**
 * Where an earlier page ended.
 */
cursor?: string | null,
/**
 * At most this many.
 */
limit?: number | null,
/**
 * Which way; newest first by default.
 */
sortDirection?: SortDirection | null,
/**
 * Which items the turns carry; the summary by default.
 */
itemsView?: ItemsView | null, };

/**
 * Result of `thread/turns/list`.
 */
export type ThreadTurnsListResponse = {
/**
 * The turns.
 */
data: Array<Turn>,
/**
 * For the next page, if there is more.
 */
nextCursor: string | null,
/**
 * For what is before this page; only with the other sort direction.
 */
backwardsCursor: string | null, };

/**
 * Result of `thread/unsubscribe`.
 */
export type ThreadUnsubscribeResponse = {
/**
 * Always `unsubscribed`.
 */
status: string, };

/**
 * Token counts of one response or a sum of them.
 */
export type TokenUsageBreakdown = {
/**
 * Input and output together.
 */
totalTokens: number,
/**
 * Input, cached included.
 */
inputTokens: number,
/**
 * Input that was served from the prompt cache.
 */
cachedInputTokens: number,
/**
 * Input that was written to the prompt cache.
 */
cacheWriteInputTokens: number,
/**
 * Output, reasoning included.
 */
outputTokens: number,
/**
 * Output that was reasoning.
 */
reasoningOutputTokens: number, };

/**
 * A turn.
 */
export type Turn = {
/**
 * Turn id (uuid v7).
 */
id: string,
/**
 * Id of the turn that started this one; its own id for a turn a client started.
 */
rootTurnId: string,
/**
 * Items as `itemsView` says.
 */
items: Array<ThreadItem>,
/**
 * Which items are there.
 */
itemsView: ItemsView,
/**
 * How it stands.
 */
status: TurnStatus,
/**
 * Why it failed.
 */
error: TurnError | null,
/**
 * Unix seconds.
 */
startedAt: number | null,
/**
 * Unix seconds.
 */
completedAt: number | null,
/**
 * Wall time in milliseconds.
 */
durationMs: number | null, };

/**
 * Why a turn failed.
 */
export type TurnError = {
/**
 * For people.
 */
message: string,
/**
 * For programs: a string such as `serverOverloaded` or a one-key object such as
 * `{"httpConnectionFailed":{"httpStatusCode":401}}`.
 */
codexErrorInfo: JsonValue | null,
/**
 * More for people.
 */
additionalDetails: string | null,
/**
 * Reserved by the protocol; always null here.
 */
misalignment: JsonValue | null, };

/**
 * Params of `turn/interrupt`.
 */
export type TurnInterruptParams = {
/**
 * The thread.
 */
threadId: string,
/**
 * The turn the client means.
 */
turnId: string, };

/**
 * Params of `turn/start`. Settings given here hold for later turns too, except `outputSchema`.
 */
export type TurnStartParams = {
/**
 * The thread.
 */
threadId: string,
/**
 * What the user sends; may be empty.
 */
input: Array<UserInput>,
/**
 * Echoed as `clientId` of the user message.
 */
clientUserMessageId?: string | null,
/**
 * Working directory.
 */
cwd?: string | null,
/**
 * When to ask.
 */
approvalPolicy?: AskForApproval | null,
/**
 * Who answers approvals; only `user` is known.
 */
approvalsReviewer?: string | null,
/**
 * What commands may do.
 */
sandboxPolicy?: SandboxPolicy | null,
/**
 * Model slug.
 */
model?: string | null,
/**
 * Reasoning effort (`low`, `medium`, …).
 */
effort?: string | null,
/**
 * Reasoning summary: `auto`, `concise`, `detailed`, `none`.
 */
summary?: string | null,
/**
 * Personality of the answers.
 */
personality?: string | null,
/**
 * JSON schema of the final answer.
 */
outputSchema?: JsonValue | null,
/**
 * Service tier to ask the model service for.
 */
serviceTier?: string | null, };

/**
 * Result of `turn/start`.
 */
export type TurnStartResponse = {
/**
 * The turn; in progress and without items.
 */
turn: Turn, };

/**
 * How a turn stands.
 */
export type TurnStatus = "inProgress" | "completed" | "interrupted" | "failed";

/**
 * Params of `turn/steer`.
 */
export type TurnSteerParams = {
/**
 * The thread.
 */
threadId: string,
/**
 * What the user adds; not empty.
 */
input: Array<UserInput>,
/**
 * The turn the client believes to be running.
 */
expectedTurnId: string,
/**
 * Echoed as `clientId` of the user message.
 */
clientUserMessageId?: string | null, };

/**
 * Result of `turn/steer`.
 */
export type TurnSteerResponse = {
/**
 * The turn that got the input.
 */
turnId: string, };

/**
 * One piece of user input in `turn/start`.
 */
export type UserInput = { "type": "text",
/**
 * The text.
 */
text: string,
/**
 * Client-side annotations (opaque).
 */
text_elements: Array<JsonValue>, } | { "type": "image",
/**
 * Where the image is.
 */
url: string,
/**
 * Detail hint of the Responses API (`low`, `high`, `auto`, `original`).
 */
detail: string | null, } | { "type": "localImage",
/**
 * Absolute path.
 */
path: string,
/**
 * Detail hint of the Responses API.
 */
detail: string | null, } | { "type": "skill",
/**
 * Name of the skill.
 */
name: string,
/**
 * Path of its `SKILL.md`.
 */
path: string, } | { "type": "mention",
/**
 * Shown name.
 */
name: string,
/**
 * Path that was mentioned.
 */
path: string, };

/**
 * A user message.
 */
export type UserMessageItem = {
/**
 * Item id (uuid v7).
 */
id: string,
/**
 * Echo of `clientUserMessageId`.
 */
clientId: string | null,
/**
 * What was sent.
 */
content: Array<UserInput>,
/**
 * Unix milliseconds.
 */
startedAtMs: number | null,
/**
 * Unix milliseconds.
 */
completedAtMs: number | null, };
