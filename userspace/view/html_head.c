/* SPDX-License-Identifier: Apache-2.0 */
/* The style of a page, and its head. */
#include "userspace/base/clock.h"
#include "userspace/view/html_private.h"

/* Colours are at least 4.5:1 against their ground where they carry text, 3:1 where they are shapes. */
const char html_style[] =
	":root{color-scheme:light "
	"dark;--ground:#fff;--card:#f5f6f8;--line:#d3d7de;--text:#1b1f26;--dim:#596273;"
	"--good:#11804a;--bad:#c0392b;--warn:#b06a00;--info:#2563b8;--none:#8a93a3;--band:#9fc3f0;--mark:#"
	"7a3fb5}\n"
	"@media "
	"(prefers-color-scheme:dark){:root{--ground:#12151a;--card:#1c2027;--line:#39404c;--text:#e7eaf0;"
	"--dim:#a3adbd;--good:#3fbf7f;--bad:#f0766a;--warn:#e0a03c;--info:#6ea8f5;--none:#7d8797;--band:#"
	"34588a;"
	"--mark:#c39af0}}\n"
	"*{box-sizing:border-box}\n"
	"body{margin:0;background:var(--ground);color:var(--text);font:16px/1.5 "
	"system-ui,-apple-system,'Segoe UI',"
	"Roboto,sans-serif;font-variant-numeric:tabular-nums}\n"
	"main,footer{max-width:78rem;margin:0 auto;padding:1rem clamp(.75rem,3vw,2rem)}\n"
	"h1{font-size:1.5rem;line-height:1.25;margin:.5rem 0 .25rem;overflow-wrap:anywhere}\n"
	"h2{font-size:1.125rem;margin:2.25rem 0 .5rem}\n"
	"p{margin:.25rem 0}.dim,footer,figcaption{color:var(--dim)}footer{font-size:.875rem}\n"
	"figure{margin:0}figcaption,.small{font-size:.875rem}\n"
	".cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(9.5rem,1fr));gap:.75rem;margin:"
	"1rem 0 0;"
	"padding:0}\n"
	".cards div{background:var(--card);border:1px solid var(--line);border-radius:.5rem;padding:.75rem "
	"1rem}\n"
	".cards dt{color:var(--dim);font-size:.875rem}\n"
	".cards dd{margin:0;font-size:1.5rem;font-weight:600;line-height:1.3;white-space:nowrap}\n"
	".cards dd+dd{font-size:.875rem;font-weight:400;color:var(--dim);white-space:normal}\n"
	".falls{list-style:none;margin:0;padding:0}\n"
	".falls li{display:grid;grid-template-columns:minmax(9rem,15rem) 1fr 6rem 4.5rem;gap:.75rem;"
	"align-items:center;padding:.15rem 0}\n"
	".falls svg{width:100%;height:1.1rem;background:var(--card)}\n"
	".falls .n{text-align:right;white-space:nowrap}.falls .sum{font-weight:600}\n"
	".falls .end{border-top:1px solid var(--line)}\n"
	"svg{display:block}.good{fill:var(--good)}.bad{fill:var(--bad)}.warn{fill:var(--warn)}"
	".info{fill:var(--info)}.none{fill:var(--none)}.band{fill:var(--band)}.mark{fill:var(--mark)}\n"
	".lanes{display:grid;grid-template-columns:7.5rem 1fr;gap:0 .75rem;align-items:center}\n"
	".lanes .lane{border-bottom:1px solid var(--line);padding:.25rem 0}.lanes .name{font-size:.875rem}\n"
	".lanes svg{width:100%;height:1.4rem}.lanes .clock{grid-column:2}\n"
	".clock{display:flex;justify-content:space-between;font-size:.8125rem;color:var(--dim);margin:.25rem "
	"0 0;"
	"gap:.5rem}\n"
	".plot{display:grid;grid-template-columns:4.5rem 1fr;gap:0 .5rem}\n"
	".plot svg{width:100%;height:16rem;background:var(--card)}.plot .below{grid-column:2}\n"
	".scale{position:relative;font-size:.8125rem;color:var(--dim)}\n"
	".scale span{position:absolute;right:0;transform:translateY(-50%);white-space:nowrap}\n"
	".scale span.top{transform:none}.scale span.bottom{transform:translateY(-100%)}\n"
	".break{stroke-dasharray:2 "
	"3}.grid{stroke:var(--line);stroke-width:1;vector-effect:non-scaling-stroke}\n"
	".line{fill:none;stroke:var(--info);stroke-width:1.75;vector-effect:non-scaling-stroke;"
	"stroke-linejoin:round}\n"
	".ideal{stroke:var(--good);stroke-width:2;stroke-dasharray:6 4;vector-effect:non-scaling-stroke}\n"
	".key{display:inline-block;width:1.6rem;height:.7rem;vertical-align:-.05rem;margin:0 .3rem 0 .9rem}"
	".key:first-child{margin-left:0}\n"
	".wide{overflow-x:auto}table{border-collapse:collapse;width:100%;font-size:.9375rem}\n"
	"th,td{text-align:left;padding:.35rem .9rem .35rem 0;border-bottom:1px solid var(--line);"
	"vertical-align:top}\n"
	"th{font-weight:600;color:var(--dim);font-size:.875rem;white-space:nowrap}\n"
	"td.n,th.n{text-align:right;white-space:nowrap}td time,.one{white-space:nowrap}\n"
	"td svg{width:100%;min-width:6rem;height:1rem;background:var(--card)}\n"
	"td.any{min-width:10rem;overflow-wrap:break-word}li.any{overflow-wrap:anywhere}ul.said{margin:.25rem "
	"0;padding-left:1.2rem}ul.said li{margin:.2rem 0}\n"
	"@media (max-width:40rem){.falls li{grid-template-columns:1fr auto 4rem;gap:0 .5rem;padding:.3rem 0}"
	".falls svg{grid-row:2;grid-column:1/-1}.lanes{grid-template-columns:1fr}.lanes "
	".name{padding-top:.35rem}"
	".lanes .clock{grid-column:1}.lanes .lane{padding-top:0}.plot{grid-template-columns:3.6rem 1fr}"
	".plot svg{height:12rem}.clock span:nth-child(even){display:none}}\n"
	"@media print{body{font-size:10pt}main{max-width:none;padding:0}section{break-inside:avoid}"
	".wide{overflow:visible}h2{margin-top:1.2rem}}\n";

static void card(struct buffer *out, const char *name)
{
	buffer_printf(out, "<div><dt>%s</dt><dd>", name);
}

static void goodput_card(struct buffer *out, const struct story *s)
{
	uint64_t observed_ns = view_observed_ns(&s->ledger);
	char text[WORD_MAX];

	card(out, "Goodput");
	buffer_printf(out, "%s</dd><dd>",
		      view_percent(text, s->ledger.ns[BUCKET_GOODPUT], observed_ns)[0] == '<'
			      ? "&lt;0.1 %"
			      : view_percent(text, s->ledger.ns[BUCKET_GOODPUT], observed_ns));
	html_duration(out, "GOODPUT", s->ledger.ns[BUCKET_GOODPUT]);
	buffer_printf(out, " of ");
	html_duration(out, "observed_ns", observed_ns);
	buffer_printf(out, " observed</dd></div>\n");
}

static void step_card(struct buffer *out, const struct story *s)
{
	const struct sketch *t = &s->totals.times;

	card(out, "Step time, median");
	if (!t->count) {
		buffer_printf(out, "unknown</dd></div>\n");
		return;
	}
	html_duration(out, "p50_ns", sketch_quantile(t, 0.5));
	buffer_printf(out, "</dd><dd>p95 ");
	html_duration(out, "p95_ns", sketch_quantile(t, 0.95));
	buffer_printf(out, ", p99 ");
	html_duration(out, "p99_ns", sketch_quantile(t, 0.99));
	buffer_printf(out, ", max ");
	html_duration(out, "max_ns", t->max_ns);
	buffer_printf(out, "</dd></div>\n");
}

static void fall_card(struct buffer *out, const struct story *s)
{
	card(out, "Disruptions");
	html_count(out, "disruptions_count", s->ledger.disruptions);
	buffer_printf(out, "</dd><dd>");
	if (s->ledger.disruptions) {
		buffer_printf(out, "recovery ");
		html_duration(out, "recovery", s->recovery_ns);
		buffer_printf(out, ", wasted ");
		html_duration(out, "wasted", s->wasted_ns);
	} else {
		buffer_printf(out, "none seen");
	}
	buffer_printf(out, "</dd></div>\n");
}

void html_head(struct buffer *out, const struct story *s)
{
	uint64_t runs = s->runs.count + s->runs.earlier;

	buffer_printf(out, "<header>\n<h1>");
	html_text(out, story_name(s));
	buffer_printf(out, "</h1>\n<p class=\"dim\">");
	html_text(out, *s->job.state ? s->job.state : "state unknown");
	buffer_printf(out, ", ");
	html_time(out, s->from_ns);
	buffer_printf(out, " to ");
	html_time(out, s->to_ns);
	buffer_printf(out, " UTC");
	if (s->totals.excluded_ns) {
		buffer_printf(out, ", less ");
		html_duration(out, "excluded_ns", s->totals.excluded_ns);
		buffer_printf(out, " left out");
	}
	buffer_printf(out, "</p>\n</header>\n<dl class=\"cards\">\n");
	goodput_card(out, s);
	card(out, "Elapsed");
	html_duration(out, "elapsed_ns", s->ledger.now_ns - s->ledger.start_ns);
	buffer_printf(out, "</dd><dd>%llu run%s</dd></div>\n", (unsigned long long)runs,
		      runs == 1 ? "" : "s");
	card(out, "Steps");
	html_count(out, "steps", s->totals.steps);
	buffer_printf(out, "</dd><dd>");
	if (s->job.max_step) {
		buffer_printf(out, "highest number ");
		html_count(out, "max_step", s->job.max_step);
	}
	buffer_printf(out, "</dd></div>\n");
	fall_card(out, s);
	step_card(out, s);
	buffer_printf(out, "</dl>\n");
}
