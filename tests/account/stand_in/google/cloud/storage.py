# SPDX-License-Identifier: Apache-2.0
"""No bucket is named in tests, so that nothing here is called."""
