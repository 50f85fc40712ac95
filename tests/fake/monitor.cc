// SPDX-License-Identifier: Apache-2.0
// monitor WHAT [N...]: a process that logs events as torch.monitor does, of the same types, so that they lie
// in memory as its compiler's library lays them out (monitor_old: as before C++11). Says "ready", waits for a line,
// does it, says "done" and stays until its standard input ends.
//
//   usual      what programs log: no entry, all types, 16 entries, 17
//   hostile    what no program logs: memory that is not there, lists without end
//   flood N    N events as fast as can be
//   named N... for each name an event of that name, and a Stat of it
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <unordered_map>
#include <variant>

namespace torch::monitor {
struct Event { // torch/csrc/monitor/events.h
	std::string name;
	std::chrono::system_clock::time_point timestamp;
	std::unordered_map<std::string, std::variant<std::string, double, int64_t, bool>> data;
};
void logEvent(const Event &e);
} // namespace torch::monitor
using torch::monitor::Event;

static const auto at = std::chrono::system_clock::time_point(std::chrono::nanoseconds(1700000000123456789));
static const std::string forty(40, 'x');

static void usual()
{
	Event many{"many", at, {}};

	torch::monitor::logEvent({"empty", at, {}});
	torch::monitor::logEvent({"all", at,
		  {{"text", std::string("word")}, {"none", std::string()}, {"double", 0.1}, {"int", int64_t(-42)},
		   {"true", true}, {"false", false}, {"nan", 0.0 / 0.0}}});
	torch::monitor::logEvent({"name " + forty, at, {{"key " + forty, "text " + forty}}});
	for (int i = 0; i < 17; i++) {
		many.data["k" + std::to_string(i)] = int64_t(i);
		if (i >= 15)
			torch::monitor::logEvent(many);
	}
}

// An event and nodes as words, for what no constructor makes.
struct Raw {
	uint64_t word[10];
};
struct Node {
	uint64_t word[11];
};

static void log_raw(const void *raw)
{
	torch::monitor::logEvent(*static_cast<const Event *>(raw));
}

static uint64_t address(const void *p)
{
	return reinterpret_cast<uintptr_t>(p);
}

static Raw raw(const char *name, const Node *first, uint64_t count)
{
	// name, its length; time; buckets; first node, nodes: as libstdc++ has it since C++11
	return {{address(name), strlen(name), 0, 0, 1700000000123456789, 0, 1, address(first), count, 0}};
}

static Node node(const char *key, const Node *next, uint64_t value, uint8_t type)
{
	return {{address(next), address(key), strlen(key), 0, 0, value, 0, 0, 0, type, 0}};
}

static void hostile()
{
	long page = sysconf(_SC_PAGESIZE);
	char *edge = static_cast<char *>(
		mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	const auto *nowhere = reinterpret_cast<const char *>(0x10);
	const auto *kernel = reinterpret_cast<const char *>(0xffff800000000000);
	const auto *no_node = reinterpret_cast<const Node *>(0xdeadbeefdead0000);
	char *last;

	if (edge == MAP_FAILED || munmap(edge + page, page))
		exit(3);
	last = edge + page - 4;
	memset(last, 'e', 4); // a text whose end is not there

	Node loop = node("loop", nullptr, 1, 2), a = node("a", nullptr, 1, 2), b = node("b", no_node, 2, 2);
	Node bad_type = node("type", nullptr, 1, 200), bad_text = node("text", nullptr, address(kernel), 0);
	Node bad_key = node("key", nullptr, 1, 2), cut_key = node("cut", nullptr, 1, 2);
	loop.word[0] = address(&loop);
	a.word[0] = address(&b);
	bad_key.word[1] = address(nowhere);
	cut_key.word[1] = address(last);

	const Raw raws[] = {
		raw("cycle", &loop, UINT64_MAX),       raw("garbage count", &bad_type, 1ull << 40),
		raw("half there", &a, 3),	       raw("no node", no_node, 2),
		raw("kernel text", &bad_text, 1),      raw("no key", &bad_key, 1),
		raw("cut key", &cut_key, 1),	       raw("no list", nullptr, 7),
		raw("less than it has", &loop, 1),
	};
	Raw nameless = raw("", &loop, 1), wild = raw("\x1b[2J\n\"\\\xff", &loop, 1);

	for (const Raw &r : raws)
		log_raw(&r);
	nameless.word[0] = address(kernel);
	log_raw(&nameless);
	log_raw(&wild);
	log_raw(last); // its head is half there
	log_raw(kernel);
	log_raw(nullptr);
}

static void flood(long n)
{
	Event e{"flood", at, {{"n", int64_t(0)}}};

	for (long i = 0; i < n; i++)
		torch::monitor::logEvent(e);
}

static void named(const std::string &name)
{
	torch::monitor::logEvent({name, at, {{name, name}}});
	torch::monitor::logEvent({"torch.monitor.Stat", at, {{name + ".mean", 0.5}}});
}

int main(int argc, char **argv)
{
	const std::string what = argc > 1 ? argv[1] : "";
	char line[64];

	setvbuf(stdout, nullptr, _IOLBF, 0);
	puts("ready");
	if (!fgets(line, sizeof(line), stdin))
		return 1;
	if (what == "usual")
		usual();
	else if (what == "hostile")
		hostile();
	else if (what == "flood")
		flood(argc > 2 ? atol(argv[2]) : 1);
	else if (what == "named")
		for (int i = 2; i < argc; i++)
			named(argv[i]);
	else
		return 2;
	puts("done");
	while (fgets(line, sizeof(line), stdin))
		;
	return 0;
}
