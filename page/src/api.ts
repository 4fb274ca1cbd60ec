// Made by page/schema.py from shared/readapi/api.py and its parts; not edited by hand.

export interface AdmissionEntry {
  readonly admitted: boolean;
  readonly payoff: number;
  readonly utility: number | null;
  readonly bill: number | null;
  readonly promise: string;
  readonly promised_at: number | null;
  readonly finish_at: number | null;
  readonly resumes_at: number | null;
  readonly planned_workers: number;
  readonly profile: ProfileEntry | null;
}

export interface AgentEntry {
  readonly age_seconds: number;
  readonly stale: boolean;
  readonly complete: boolean;
  readonly progressing: number;
  readonly watching: number;
  readonly converged: number;
  readonly use: Use | null;
  readonly cpu_cores: number | null;
  readonly gpus: GpuHealth | null;
}

export interface Ahead {
  readonly position: number;
  readonly job: string;
  readonly reason: string;
  readonly v: number;
}

export interface Bill {
  readonly idle: number;
  readonly now: number | null;
}

export interface Change {
  readonly kind: "set-annotation" | "set-label" | "remove-gate" | "add-pods" | "wait" | "lower-min-available" | "lower-request" | "change-selector" | "drop-affinity" | "add-toleration" | "change-port" | "drop-topology" | "raise-quota" | "set-scheduler" | "uncordon" | "remove-taint" | "free" | "add-nodes";
  readonly says: string;
  readonly steps: readonly Step[];
}

export interface Checked {
  readonly by_api_server: boolean;
  readonly reason: string;
  readonly pods_by_api_server: boolean;
}

export interface CheckpointEntry {
  readonly pod: string;
  readonly step: number | null;
  readonly age_seconds: number | null;
  readonly problem: string;
  readonly detail: string;
}

export interface Declined {
  readonly job: string;
  readonly reason: string;
  readonly message: string;
  readonly at: number;
}

export interface EndEntry {
  readonly at: number | null;
  readonly why: string;
  readonly done_percent: number | null;
  readonly written_at: number | null;
  readonly stale: boolean;
  readonly problem: string;
}

export interface ExplainResponse {
  readonly apiVersion: string;
  readonly generated_at: number;
  readonly namespace: string;
  readonly pod: string;
  readonly job: string;
  readonly state: string;
  readonly node: string | null;
  readonly reason: string;
  readonly message: string;
  readonly decision: string;
  readonly nodes: readonly NodeTerms[];
  readonly position: number | null;
  readonly estimated_start: number | null;
  readonly earliest_start: number | null;
  readonly latest_start: number | null;
  readonly estimate: string;
  readonly warnings: readonly string[];
  readonly ahead: readonly Ahead[];
  readonly counts: MemberCounts | null;
  readonly needs: number;
  readonly fits: number;
  readonly cause: string;
  readonly short: Readonly<Record<string, number>>;
  readonly tried: readonly Tried[];
  readonly changes: readonly Change[];
  readonly workers: WorkersEntry | null;
  readonly rescales: readonly RescaleEntry[];
  readonly parkings: readonly ParkingEntry[];
  readonly declined: Declined | null;
  readonly admission: AdmissionEntry | null;
  readonly price: readonly PricePart[];
  readonly faults: readonly FaultEntry[];
  readonly progress: ProgressEntry | null;
  readonly progress_problem: string;
}

export interface FaultEntry {
  readonly kind: string;
  readonly pod: string;
  readonly node: string;
  readonly since: number;
  readonly message: string;
}

export interface Finding {
  readonly check: string;
  readonly level: "ok" | "warning" | "fault" | "not known";
  readonly message: string;
  readonly fix: string;
}

export interface GpuHealth {
  readonly devices: number;
  readonly lost: number;
  readonly uncorrected_errors: number | null;
  readonly pending_remaps: number;
  readonly failed_remaps: number;
}

export interface JobEntry {
  readonly state: "waiting" | "blocked" | "starting" | "running" | "paused" | "parked" | "ending" | "done" | "failed";
  readonly since: number | null;
  readonly requests: Readonly<Record<string, number>>;
  readonly position: number | null;
  readonly reason: string;
  readonly message: string;
  readonly estimated_start: number | null;
  readonly earliest_start: number | null;
  readonly latest_start: number | null;
  readonly estimate: string;
  readonly job: string;
  readonly namespace: string;
  readonly kind: string;
  readonly created_at: number;
  readonly min_available: number | null;
  readonly members: number;
  readonly counts: MemberCounts;
  readonly problem: string;
  readonly warnings: readonly string[];
  readonly nodes: readonly string[];
  readonly devices: Readonly<Record<string, Readonly<Record<string, number>>>>;
  readonly progress: ProgressEntry | null;
  readonly progress_problem: string;
  readonly checkpoint: CheckpointEntry | null;
  readonly workers: WorkersEntry | null;
  readonly admission: AdmissionEntry | null;
  readonly end: EndEntry | null;
  readonly faults: readonly FaultEntry[];
}

export interface JobsResponse {
  readonly apiVersion: string;
  readonly generated_at: number;
  readonly continue: string;
  readonly entries: readonly JobEntry[];
}

export interface MemberCounts {
  readonly gated: number;
  readonly held: number;
  readonly seated: number;
  readonly loose: number;
  readonly direct: number;
  readonly in_tree: number;
  readonly bound: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly leaving: number;
}

export interface MigrationEntry {
  readonly namespace: string;
  readonly name: string;
  readonly job: string;
  readonly kind: string;
  readonly created_at: number;
  readonly trigger: string;
  readonly mover: string;
  readonly phase: string;
  readonly open: boolean;
  readonly reason: string;
  readonly message: string;
  readonly why: string;
  readonly gain_seconds: number | null;
  readonly cost_seconds: number | null;
  readonly members: readonly MoveEntry[];
  readonly transitions: readonly Transition[];
  readonly downtime_seconds: number | null;
  readonly lost_steps: number | null;
}

export interface MigrationsResponse {
  readonly apiVersion: string;
  readonly generated_at: number;
  readonly continue: string;
  readonly acting: boolean;
  readonly entries: readonly MigrationEntry[];
  readonly declined: readonly Declined[];
}

export interface MoveEntry {
  readonly pod: string;
  readonly source: string;
  readonly target: string;
  readonly replacement: string;
  readonly node: string;
  readonly acked_step: number | null;
  readonly ack_bytes: number | null;
  readonly ack_seconds: number | null;
  readonly resumed_step: number | null;
}

export interface NamespaceEntry {
  readonly namespace: string;
  readonly waiting: number;
  readonly running: number;
  readonly held: Readonly<Record<string, number>>;
  readonly share: number;
  readonly weight: number;
  readonly guaranteed_share: number;
  readonly limit: number | null;
  readonly problem: string;
}

export interface NamespacesResponse {
  readonly apiVersion: string;
  readonly generated_at: number;
  readonly continue: string;
  readonly acting: boolean;
  readonly fair_share: boolean;
  readonly entries: readonly NamespaceEntry[];
  readonly others: Totals | null;
}

export interface NodeEntry {
  readonly name: string;
  readonly ready: boolean;
  readonly unschedulable: boolean;
  readonly allocatable: Readonly<Record<string, number>>;
  readonly used: Readonly<Record<string, number>>;
  readonly seats: number;
  readonly relative_price: number;
  readonly log_price: number;
  readonly leaving: string;
  readonly agent: AgentEntry | null;
  readonly domains: Readonly<Record<string, string>>;
  readonly gpu_model: string;
  readonly gpu_devices: Readonly<Record<string, number>>;
}

export interface NodeGroup {
  readonly causes: readonly string[];
  readonly says: string;
  readonly nodes: readonly string[];
  readonly fits: number;
  readonly short: Readonly<Record<string, number>>;
}

export interface NodePrices {
  readonly name: string;
  readonly prices: Readonly<Record<string, number>>;
  readonly dearest: string;
  readonly times_idle: number;
}

export interface NodeTerms {
  readonly node: string;
  readonly affinity: number;
  readonly locality: number;
  readonly packing: number;
  readonly price: number;
  readonly total: number;
  readonly preference: number | null;
  readonly sparing: number | null;
}

export interface NodesResponse {
  readonly apiVersion: string;
  readonly generated_at: number;
  readonly continue: string;
  readonly entries: readonly NodeEntry[];
}

export interface Others {
  readonly jobs: number;
  readonly requests: Readonly<Record<string, number>>;
}

export interface ParkingEntry {
  readonly namespace: string;
  readonly id: string;
  readonly job: string;
  readonly kind: string;
  readonly cause: string;
  readonly phase: string;
  readonly open: boolean;
  readonly begun_at: number;
  readonly since: number;
  readonly starts: string;
  readonly saved_step: number | null;
  readonly save_seconds: number | null;
  readonly waited_seconds: number | null;
  readonly restart_seconds: number | null;
  readonly lost_steps: number | null;
  readonly reason: string;
  readonly message: string;
}

export interface ParkingsResponse {
  readonly apiVersion: string;
  readonly generated_at: number;
  readonly continue: string;
  readonly acting: boolean;
  readonly entries: readonly ParkingEntry[];
  readonly declined: readonly Declined[];
}

export interface Place {
  readonly pod: string;
  readonly role: string;
  readonly node: string;
}

export interface PricePart {
  readonly resource: string;
  readonly at: number;
  readonly cost: number;
  readonly pods: number;
  readonly price: number;
}

export interface PricesResponse {
  readonly apiVersion: string;
  readonly generated_at: number;
  readonly acting: boolean;
  readonly kappa: number;
  readonly nodes: readonly NodePrices[];
  readonly slots: SlotPrices | null;
  readonly slots_problem: string;
}

export interface ProfileEntry {
  readonly since: number | null;
  readonly until: number | null;
  readonly steps: number;
  readonly wanted_steps: number;
  readonly step_seconds: number | null;
  readonly spread: number | null;
  readonly wanted_spread: number;
  readonly lacks: string;
}

export interface ProgressEntry {
  readonly pod: string;
  readonly metric: string;
  readonly category: "progressing" | "watching" | "converged";
  readonly source: string;
  readonly value: number | null;
  readonly step: number | null;
  readonly total_steps: number | null;
  readonly curve: readonly number[];
  readonly specon: "progressing" | "watching" | "converged" | null;
  readonly stage: "not-a-convergence-metric" | "too-early" | "warm-up" | "flat" | "improving" | "plateau" | "rising" | "diverging" | null;
  readonly evidence: string;
  readonly remaining: Span | null;
  readonly further: Span | null;
  readonly attempt: number;
  readonly diverged: boolean;
  readonly updated_at: number;
  readonly stale: boolean;
}

export interface QueueEntry {
  readonly position: number | null;
  readonly job: string;
  readonly namespace: string;
  readonly kind: string;
  readonly created_at: number;
  readonly v: number;
  readonly terms: Terms;
  readonly waited_seconds: number;
  readonly members: number;
  readonly min_available: number | null;
  readonly reason: string;
  readonly message: string;
  readonly estimated_start: number | null;
  readonly earliest_start: number | null;
  readonly latest_start: number | null;
  readonly estimate: string;
  readonly weight: Weight | null;
  readonly standing: StandingEntry | null;
  readonly max_wait_seconds: number | null;
  readonly workers: WorkersEntry | null;
  readonly admission: AdmissionEntry | null;
  readonly requests: Readonly<Record<string, number>>;
}

export interface QueueResponse {
  readonly apiVersion: string;
  readonly generated_at: number;
  readonly continue: string;
  readonly acting: boolean;
  readonly order: string;
  readonly entries: readonly QueueEntry[];
  readonly others: Others | null;
}

export interface Report {
  readonly apiVersion: string;
  readonly generated_at: number;
  readonly entries: readonly Finding[];
}

export interface RescaleEntry {
  readonly namespace: string;
  readonly id: string;
  readonly job: string;
  readonly kind: string;
  readonly cause: string;
  readonly before: number;
  readonly to: number;
  readonly phase: string;
  readonly open: boolean;
  readonly begun_at: number;
  readonly since: number;
  readonly starts: string;
  readonly started: boolean;
  readonly saved_seconds: number | null;
  readonly step_seconds_before: number | null;
  readonly step_seconds_after: number | null;
  readonly reason: string;
  readonly message: string;
}

export interface RescalesResponse {
  readonly apiVersion: string;
  readonly generated_at: number;
  readonly continue: string;
  readonly acting: boolean;
  readonly entries: readonly RescaleEntry[];
  readonly declined: readonly Declined[];
}

export interface Scale {
  readonly log_low: number;
  readonly log_high: number;
}

export interface Shift {
  readonly job: string;
  readonly position_without: number | null;
  readonly position_with: number | null;
  readonly start_without: number | null;
  readonly start_with: number | null;
  readonly later_seconds: number | null;
  readonly estimate_without: string;
  readonly estimate_with: string;
}

export interface SlotPrices {
  readonly slot_seconds: number;
  readonly first: number;
  readonly slots: number;
  readonly share: number;
  readonly scales: Readonly<Record<string, Scale>>;
  readonly server_scales: Readonly<Record<string, Scale>>;
  readonly rows: readonly SlotRow[];
}

export interface SlotRow {
  readonly nodes: readonly string[];
  readonly prices: Readonly<Record<string, readonly number[]>>;
}

export interface Span {
  readonly value: number;
  readonly low: number;
  readonly high: number;
}

export interface StandingEntry {
  readonly group: string;
  readonly needs: Span;
  readonly source: string;
  readonly weight: number;
}

export interface Step {
  readonly kind: "set-annotation" | "set-label" | "remove-gate" | "add-pods" | "wait" | "lower-min-available" | "lower-request" | "change-selector" | "drop-affinity" | "add-toleration" | "change-port" | "drop-topology" | "raise-quota" | "set-scheduler" | "uncordon" | "remove-taint" | "free" | "add-nodes";
  readonly subject: string;
  readonly role?: string;
  readonly field?: string;
  readonly from?: string;
  readonly to?: string;
  readonly amount?: number | null;
  readonly at?: number | null;
  readonly cause?: string;
  readonly pod_seconds?: number | null;
}

export interface Terms {
  readonly u: number;
  readonly b: number;
  readonly l: number;
  readonly m: number;
  readonly e_normalised: number;
  readonly m_normalised: number;
  readonly m_unit: string;
}

export interface Totals {
  readonly namespaces: number;
  readonly waiting: number;
  readonly running: number;
  readonly held: Readonly<Record<string, number>>;
}

export interface Transition {
  readonly phase: string;
  readonly at: number;
  readonly seconds: number | null;
}

export interface Tried {
  readonly role: string;
  readonly pods: number;
  readonly fits: number;
  readonly requests: Readonly<Record<string, number>>;
  readonly nodes: readonly NodeGroup[];
}

export interface Use {
  readonly cpu_cores: number | null;
  readonly memory_bytes: number | null;
  readonly throttled_ratio: number | null;
  readonly cpu_pressure_ratio: number | null;
  readonly gpu_ratio: number | null;
  readonly gpu_memory_bytes: number | null;
  readonly idle_seconds: number | null;
}

export interface Weight {
  readonly utility: number;
  readonly size: number;
  readonly cpu_ratio: number;
  readonly memory_ratio: number;
  readonly gpu_ratio: number;
}

export interface WhatIfResponse {
  readonly apiVersion: string;
  readonly generated_at: number;
  readonly acting: boolean;
  readonly job: string;
  readonly pods: number;
  readonly starts_now: boolean;
  readonly entry: QueueEntry;
  readonly waiting: number;
  readonly places: readonly Place[];
  readonly by_node: Readonly<Record<string, Readonly<Record<string, number>>>>;
  readonly bill: Bill | null;
  readonly shifts: readonly Shift[];
  readonly obstacles: ExplainResponse | null;
  readonly notes: readonly string[];
  readonly checked: Checked | null;
}

export interface WorkersEntry {
  readonly now: number;
  readonly least: number;
  readonly most: number;
  readonly stated: number | null;
  readonly rescale: RescaleEntry | null;
}
