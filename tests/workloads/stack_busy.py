# SPDX-License-Identifier: Apache-2.0
# Runs as fast as it can through stacks that are known: a comment names what a line may call. No other stack exists.


def leaf_a():
    return 1


def leaf_b():
    return 2


def count(n):
    for i in range(n):
        yield i


def middle_a(n):
    for _ in range(n):
        leaf_a()  # calls leaf_a
    return sum(count(n))  # calls count


def middle_b(n):
    return [leaf_b() for _ in range(n)]  # calls <listcomp> leaf_b


def down(n):
    if n:
        down(n - 1)  # calls down
    else:
        middle_b(3)  # calls middle_b


def main():
    while True:
        middle_a(5)  # calls middle_a
        middle_b(5)  # calls middle_b
        down(7)  # calls down


print("up", flush=True)
main()  # calls main
